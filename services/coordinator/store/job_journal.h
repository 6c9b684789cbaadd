#ifndef PACELINE_SERVICES_COORDINATOR_STORE_JOB_JOURNAL_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_JOB_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {

struct JournalOptions {
  // Rows that may wait for the disk. Decisions beyond it are dropped; of the
  // others, which are few, ten times as many may wait.
  size_t capacity = 65'536;
  // Between two attempts while the disk is full or the file is held.
  absl::Duration retry_delay = absl::Seconds(1);
  // While there is nothing to write the store's files are looked at so often.
  absl::Duration look_every = absl::Seconds(1);
};

// Writes what is told it to a JobStore, on a thread of its own and as many rows
// at a time as have gathered, so that nobody else waits for the disk. Rows of
// one kind are written in the order in which they came.
//
// A write that may succeed later (the disk is full, the file is held or away)
// is tried until it does; of any other failure the rows are dropped and
// counted. The first failure is logged, the first success after it, and the
// first row that is dropped. Thread-safe.
class JobJournal {
 public:
  // `store` outlives it.
  explicit JobJournal(JobStore* store, const JournalOptions& options = {});

  // Writes what is waiting, with one attempt for what fails.
  ~JobJournal();
  JobJournal(const JobJournal&) = delete;
  JobJournal& operator=(const JobJournal&) = delete;

  // None of these waits. After the job's deletion its rows are left out.
  void AppendDecision(const std::string& uid, const v1::Decision& decision);
  void AppendAccuracyPoint(const std::string& uid,
                           const v1::AccuracyPoint& point);
  void AppendAuditRecord(const v1::AuditRecord& record);

  // Returns once everything that was appended before has been written or
  // dropped. DEADLINE_EXCEEDED if that takes longer.
  absl::Status Flush(absl::Duration timeout);

  struct Counts {
    uint64_t written = 0;   // Rows, those of deleted jobs among them.
    uint64_t dropped = 0;   // For want of room.
    uint64_t failed = 0;    // Rows that could not be written.
    uint64_t failures = 0;  // Attempts that failed.
  };
  Counts counts() const;

 private:
  // Whether one more row may wait, of `most`; else counts it as dropped.
  bool HasRoom(size_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return stopping_ || !waiting_.empty();
  }
  void Run();
  // Until it is done or dropped.
  void Write(const StoreBatch& batch);
  // True if the same rows are to be tried again.
  bool NoteResult(const absl::Status& status, uint64_t rows);

  JobStore* const store_;
  const JournalOptions options_;

  mutable absl::Mutex mu_;
  StoreBatch waiting_ ABSL_GUARDED_BY(mu_);
  size_t rows_ ABSL_GUARDED_BY(mu_) = 0;        // Of `waiting_`.
  uint64_t appended_ ABSL_GUARDED_BY(mu_) = 0;  // Rows that ever waited.
  uint64_t done_ ABSL_GUARDED_BY(mu_) = 0;      // Written or failed of these.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool failing_ ABSL_GUARDED_BY(mu_) = false;  // The last attempt did.
  // A row was dropped, the first one, and nobody was told.
  bool full_untold_ ABSL_GUARDED_BY(mu_) = false;
  Counts counts_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Last: it uses all of these.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_JOB_JOURNAL_H_
