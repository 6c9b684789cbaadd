#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_BOOK_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/rng.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/control/run_news.h"
#include "services/coordinator/fleet/assignment.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/run/iteration_log.h"
#include "services/coordinator/run/job_run.h"
#include "services/coordinator/store/job_store.h"
#include "services/coordinator/watch/job_events.h"

namespace paceline {

// What is known of one job. `job` is changed by JobBook::Write() alone, but for
// the parameters of its progress, which nobody watches.
struct JobEntry {
  // Its `progress` is as it was when the last run ended, but the number of
  // parameters is the one that was admitted, and `train_samples` that of the
  // last run which has begun.
  v1::Job job;
  JobNumber number = 0;
  // These three are made when they are first needed. There is no news without
  // events.
  std::shared_ptr<JobEvents> events = {};
  std::shared_ptr<RunNews> news = {};
  std::shared_ptr<JobMetrics> metrics = {};
  // Of its runs since the coordinator started; null: none, or long ago.
  std::shared_ptr<IterationLog> iterations = {};
  std::shared_ptr<JobRun> active = {};
  // `job.restore_from` as the coordinator started, until that run ends.
  std::string restarted_from = {};
  // What `job.restore_from` was found to be.
  v1::Checkpoint from = {};
  // The last decision of news that are gone: it may still wait for the disk.
  int64_t last_decision = 0;
  // Rows that belong to the job and are not stored yet. The next write of the
  // job stores them with it.
  StoreBatch unsaved = {};
  // Of a run that has ended, to be removed as soon as that is stored. Empty:
  // there is none.
  std::string ended_journal = {};
  absl::Time evaluated_until = absl::InfinitePast();
  // If the run is being saved so that the job goes on in another run, this
  // says why.
  std::string interrupted = {};
  // What people should look at while its run trains; empty: nothing.
  std::string warning = {};
  // Why what its run has trained is not saved so far; empty if nothing is known
  // against that.
  std::string unsaved_why = {};
  bool warned_of_journal = false;  // That it gets long.

  // The job goes on from that checkpoint, or will if it turns out that the end
  // of its run was lost.
  bool Needs(absl::string_view checkpoint) const {
    return checkpoint == job.restore_from() || checkpoint == restarted_from;
  }
  // The next run gets others.
  void ForgetNews();
  // What there is to say of the job while it is RUNNING; mostly nothing.
  const std::string& ReasonWhileRunning() const {
    return interrupted.empty() ? warning : interrupted;
  }
  // What its run has trained is still to be saved, so that it goes on elsewhere
  // or stays as it is.
  bool IsBeingSaved() const {
    return active != nullptr &&
           (!interrupted.empty() || job.state() == v1::Job::PAUSING ||
            job.state() == v1::Job::SAVING);
  }
};

// What a caller's request is, if it has an id, so that the same request is
// recognized when it comes again.
struct Asked {
  std::string identity;
  std::string request_id;  // Empty: the request is not remembered.
  std::string digest;
};

template <typename Request>
Asked AskedBy(const std::string& identity, const Request& request) {
  if (request.request_id().empty()) return {};
  return {identity, request.request_id(),
          absl::StrCat(request.GetTypeName(), " ", DigestOf(request))};
}

// How safe a change of a job has to be before it is shown.
enum class Durability : uint8_t {
  // It is in the store first. If the store fails, nothing has changed.
  kStored,
  // It has happened, and a store that fails cannot undo it: it is shown at
  // once, and the store is tried again until it has it.
  kRetried,
  // It is not stored. Why a job waits is found anew after a restart, and one
  // more free worker changes that for every job that waits.
  kShown,
};

// All jobs of the cluster, and the one way to change one of them: Write()
// stores the job and tells its watchers.
//
// Its lock is the lock of all that the coordinator keeps of jobs: whoever has a
// JobEntry holds it. It is held while the store writes, and for no other file.
// docs/locks.md has its place among the others.
class JobBook {
 public:
  using Entries = std::map<std::string, JobEntry>;  // By name.

  // `clock` and `store` outlive it.
  JobBook(const Clock* clock, JobStore* store, uint64_t entropy)
      : clock_(clock), store_(store), ids_(entropy) {}

  absl::Mutex& mu() const ABSL_LOCK_RETURNED(mu_) { return mu_; }

  // Takes the store's jobs over as they are, numbered in the order of their
  // creation. The errors are the store's.
  absl::Status Load() ABSL_LOCKS_EXCLUDED(mu_);

  Entries& entries() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return entries_; }
  const Entries& entries() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return entries_;
  }
  // NOT_FOUND if there is no job of that name.
  absl::StatusOr<JobEntry*> Find(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<const JobEntry*> Find(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Those that the control thread has to look at, by name: they wait, have a
  // run, or are not stored.
  std::vector<JobEntry*> Busy() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The jobs of a namespace.
  std::vector<const v1::Job*> JobsOf(absl::string_view name_space) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The job with its progress by now.
  v1::Job View(const JobEntry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What happens to the job from now on.
  const std::shared_ptr<JobEvents>& EventsOf(JobEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Rng& ids() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ids_; }

  // `job` becomes the entry's and gets its etag; whoever watches it is told.
  // What is unsaved is stored with it, and so is that `resource` answers the
  // request `asked`. The errors are the store's, and only those of kStored.
  absl::Status Write(JobEntry& entry, v1::Job job, Durability durability,
                     const Asked& asked = {}, absl::string_view resource = "")
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A new job.
  absl::StatusOr<JobEntry*> Add(v1::Job job, const Asked& asked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Deletes the job with all that the store has of it. The entry is gone then,
  // unless the store fails.
  absl::Status Remove(const JobEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Stores what is unsaved, unless the store has failed a moment ago.
  void SaveAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // No job changes any more. What is unsaved gets one last attempt.
  void Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // UNAVAILABLE after Close().
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The name of what the same request was answered with before; nothing if the
  // request is new. INVALID_ARGUMENT if the id is another request's.
  absl::StatusOr<std::optional<std::string>> Repeated(const Asked& asked) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Frees what is kept for the watchers, the metrics and the iterations of jobs
  // that have not run for long.
  void LetGoOfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

 private:
  void Save(JobEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The store has taken something: if it had failed, nothing waits any more.
  // All of the entry is.
  void NoteStored(JobEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetBusy(const JobEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;
  JobStore* const store_;

  mutable absl::Mutex mu_;
  Rng ids_ ABSL_GUARDED_BY(mu_);
  Entries entries_ ABSL_GUARDED_BY(mu_);
  absl::btree_set<std::string> busy_ ABSL_GUARDED_BY(mu_);  // Names.
  // When the store is tried again that has failed; else in the past.
  absl::Time next_save_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  JobNumber next_number_ ABSL_GUARDED_BY(mu_) = 1;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_BOOK_H_
