#ifndef PACELINE_SERVICES_COORDINATOR_STORE_JOB_STORE_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_JOB_STORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/feed/standby_feed.h"
#include "services/coordinator/store/file_lock.h"
#include "services/coordinator/store/sqlite_database.h"
#include "services/coordinator/store/store_files.h"

namespace paceline {

struct JobDecision {
  std::string uid;
  v1::Decision decision;
};

struct JobAccuracy {
  std::string uid;
  v1::AccuracyPoint point;
};

struct JobCheckpoint {
  std::string uid;
  v1::Checkpoint checkpoint;
};

struct JobReportText {
  std::string uid;
  std::string json;
};

// A request that was answered, so that the same one again is not done again.
struct AnsweredRequest {
  std::string identity;  // The caller's; may be empty.
  std::string request_id;
  std::string digest;    // Tells the request's content.
  std::string resource;  // Its name.
  absl::Time time;
};

// One of those, so that it is none any more.
struct RequestKey {
  std::string identity;
  std::string request_id;
};

// Changes that are made together or not at all, in this order.
struct StoreBatch {
  std::vector<std::string> deleted_jobs = {};  // Uids.
  std::vector<v1::Job> jobs = {};              // New, or in place of the old.
  std::vector<std::string> deleted_checkpoints = {};  // Names.
  std::vector<JobCheckpoint> checkpoints = {};
  std::vector<JobReportText> reports = {};
  // One of the same sequence number is replaced.
  std::vector<JobDecision> decisions = {};
  std::vector<JobAccuracy> accuracy_points = {};
  std::vector<RequestKey> deleted_requests = {};
  std::vector<AnsweredRequest> requests = {};
  // Each gets the next sequence number.
  std::vector<v1::AuditRecord> audit_records = {};

  bool empty() const;
};

struct NumberedPoint {
  // Counts the job's points from 1, in the order of appending.
  int64_t sequence = 0;
  v1::AccuracyPoint point;
};

struct StoreOptions {
  int64_t audit_records_max = 100'000;  // The newest so many are kept.
  absl::Duration requests_kept = absl::Hours(1);
  // How long a write waits for another program that looks into the file, a
  // backup for example, before it is UNAVAILABLE.
  absl::Duration busy_timeout = absl::Seconds(5);
  // Gets what is written; null: nobody stands by. It outlives the store.
  StandbyFeed* feed = nullptr;
  bool fsync = false;  // What is written survives the machine.
};

// What a store knows of its jobs' rows, by uid.
using JobFingerprints = std::map<std::string, size_t>;

// The coordinator's memory: jobs, their history and checkpoints, answered
// requests, who did what. One SQLite file (and FILE-wal, FILE-shm, FILE.lock
// beside it), which one process has open at a time.
//
// What a call has written before it returns outlives the process, however that
// ends, and a standby has it, if one follows. Without `fsync`, a power cut or a
// crash of the machine may take the last writes (those since the last of
// SQLite's own checkpoints, about a thousand pages), the later before the
// earlier, and never damages what is older.
//
// Before anything is promised the files are looked at, for a process does not
// feel that somebody took them away.
//   - One that was deleted, moved or replaced: what the process still has open
//     is saved as FILE.rescued-TIME beside it, and what happens from then on is
//     written there. Nothing new is promised until a person has put that file
//     in its place: FAILED_PRECONDITION, reason STORE_GONE.
//   - FILE was written by another program, and what is in it now is not what
//     was stored: DATA_LOSS, reason STORE_DAMAGED, for ever. FILE stays as it
//     is then, and so does FILE-wal, under another name: see store_files.h.
// Either is logged as an error, once.
//
// Errors of all calls: RESOURCE_EXHAUSTED if the disk is full, UNAVAILABLE if
// another program looks into the file for too long, DATA_LOSS if the file turns
// out to be damaged, INTERNAL for other failures of the disk; a write that
// failed has changed nothing. Thread-safe; calls wait for each other
// and for the disk.
class JobStore : public FeedSource {
 public:
  // Opens the file, checks all of it, and upgrades it if it is of an older
  // version. A large file is checked later, by Check(), so that nobody waits
  // for it. ":memory:" keeps nothing.
  //   UNAVAILABLE          another process has it open.
  //   DATA_LOSS            it is damaged, or no database.
  //   FAILED_PRECONDITION  it is of a newer version, or of another program, or
  //                        may not be written; or it is not there or empty,
  //                        and beside it is a file that was rescued.
  //   NOT_FOUND            the directory does not exist.
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(
      const std::string& path, const StoreOptions& options = {});
  ~JobStore() override;

  // Besides the class's errors: ALREADY_EXISTS if a job's name is that of
  // another one; FAILED_PRECONDITION if a checkpoint's or a report's job is not
  // there. Decisions and accuracy points of a job that is not there are left
  // out: it was deleted while they were on their way.
  absl::Status Write(const StoreBatch& batch);

  // Writes what has happened already, whatever the store says to it: the same
  // as Write(), but where that says STORE_GONE it is kept in the rescued file.
  absl::Status Record(const StoreBatch& batch);

  // Looks at the files, and tries whether something can be written if the last
  // write has failed; the first time it also reads all of a large file. For a
  // thread that has nothing to write just now.
  void Check() ABSL_LOCKS_EXCLUDED(mu_);

  // RESOURCE_EXHAUSTED if the volume has no room for a copy of the store.
  absl::Status AppendAll(uint64_t following) override;

  // OK if something new can be stored, by the last that was tried; else why
  // not. Waits for nobody.
  absl::Status health() const;

  // Write() of one each. A job goes with all that belongs to it; OK if it is
  // not there.
  absl::Status DeleteJob(const std::string& uid);
  absl::Status PutCheckpoint(const std::string& uid,
                             const v1::Checkpoint& checkpoint);
  absl::Status DeleteCheckpoint(const std::string& name);

  // By name.
  absl::StatusOr<std::vector<v1::Job>> LoadJobs();

  // Those after the sequence number `after`, oldest first, at most `limit`.
  absl::StatusOr<std::vector<v1::Decision>> ListDecisions(
      const std::string& uid, int64_t after, int64_t limit);

  // 0 if there is none.
  absl::StatusOr<int64_t> LastDecisionSequence(const std::string& uid);

  absl::StatusOr<int64_t> LastAccuracyPoint(const std::string& uid);
  absl::StatusOr<std::vector<NumberedPoint>> ListAccuracyPoints(
      const std::string& uid, int64_t after, int64_t limit);

  // Newest first.
  absl::StatusOr<std::vector<v1::Checkpoint>> ListCheckpoints(
      const std::string& uid);

  // None before the first.
  absl::StatusOr<std::optional<std::string>> GetReport(const std::string& uid);

  // Newest first, those before the sequence number `before` (0: all).
  absl::StatusOr<std::vector<v1::AuditRecord>> ListAuditRecords(int64_t before,
                                                                int64_t limit);

  // None if it was not answered, or longer ago than is kept.
  absl::StatusOr<std::optional<AnsweredRequest>> FindRequest(
      const std::string& identity, const std::string& request_id,
      absl::Time now);

 private:
  JobStore(const std::string& path, std::optional<FileLock> lock,
           Database database, std::optional<StoreFiles> files,
           JobFingerprints stored, const StoreOptions& options);

  // OK if what is written now is kept, be it in a file that was rescued.
  absl::Status LookAtFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // OK if something may be promised.
  absl::Status CheckPromise() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What is to be done about `gone`. OK if what was open is saved, and is the
  // database from now on.
  absl::Status Rescue(const absl::Status& gone)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Database> CopyTo(const std::string& rescue)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MoveToRescue(const absl::Status& gone)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether a file that another program has written still says what was stored.
  absl::Status CheckContents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReadAnew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The whole file, if that was put off. Waits for nobody.
  void CheckWhole() ABSL_LOCKS_EXCLUDED(mu_);
  // For ever. Nothing in the files is touched any more.
  void NoteDamage(const absl::Status& damage)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Status Commit(const StoreBatch& batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WriteAll(const StoreBatch& batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whatever came of it, the log is as we have left it.
  void NoteLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A transaction that changes nothing and is written all the same.
  absl::Status WriteNothing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What became of a write, or of a look at the files; the same, with the
  // file's name where it is the file's matter.
  absl::Status NoteHealth(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string path_;
  const StoreOptions options_;
  std::optional<FileLock> lock_;  // None of ":memory:". Freed after closing.
  absl::Mutex mu_ ABSL_ACQUIRED_BEFORE(health_mu_);
  Database database_ ABSL_GUARDED_BY(mu_);
  std::optional<StoreFiles> files_ ABSL_GUARDED_BY(mu_);  // None of ":memory:".
  JobFingerprints stored_ ABSL_GUARDED_BY(mu_);
  uint64_t following_ ABSL_GUARDED_BY(mu_) = 0;  // To which changes belong.
  bool unchecked_ ABSL_GUARDED_BY(mu_) = false;  // It is large.
  // STORE_GONE since a rescue.
  absl::Status gone_ ABSL_GUARDED_BY(mu_);
  // Why a rescue failed, as long as the files are away.
  absl::Status not_rescued_ ABSL_GUARDED_BY(mu_);
  absl::Status damaged_ ABSL_GUARDED_BY(mu_);  // STORE_DAMAGED, for ever.
  mutable absl::Mutex health_mu_;
  absl::Status health_ ABSL_GUARDED_BY(health_mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_JOB_STORE_H_
