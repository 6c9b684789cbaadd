#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_CONTROL_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_CONTROL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/checkpoint/folder_lanes.h"
#include "common/checkpoint/folder_watch.h"
#include "common/clock.h"
#include "common/job/job_defaults.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "services/coordinator/control/checkpoints.h"
#include "services/coordinator/control/job_book.h"
#include "services/coordinator/control/job_history.h"
#include "services/coordinator/control/run_news.h"
#include "services/coordinator/coordinator_metrics.h"
#include "services/coordinator/fleet/assignment.h"
#include "services/coordinator/fleet/fleet.h"
#include "services/coordinator/run/journal/run_log.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {

struct JobsOptions {
  absl::Duration lease = kDefaultLease;
  v1::Quota quota = {};  // Of each namespace.
  // Below it each job has a folder, named by its uid; empty: no checkpoints.
  std::string checkpoint_root = {};
  // What was trained and cannot be saved there is saved below one of these.
  std::vector<std::string> checkpoint_fallbacks = {};
  // On which files of checkpoints are read, written and deleted.
  std::shared_ptr<FolderLanes> lanes = std::make_shared<FolderLanes>();
  // What is known of these folders, in that order; null: nothing, they are
  // taken for good. Called with the book's lock: it must not block.
  std::function<std::vector<FolderState>()> folders = nullptr;
  // Backups of each part of a job's model, where the job does not say.
  uint32_t replicas = 0;
  // Gets each run's iterations, JOB-RUN.jsonl; empty: nothing is recorded.
  std::string trace_root = {};
  // Has a journal for each run, with which another life of the coordinator goes
  // on; empty: then their jobs are paused.
  std::string journal_root = {};
  // Gets what is written there; null: nobody stands by. It outlives the jobs.
  StandbyFeed* feed = nullptr;
  bool fsync = false;  // What is written there survives the machine.
  // A run whose journal has more events ends, and its job goes on in another.
  // Where there are no checkpoints a journal of ten times as many ends.
  int64_t most_events = kLongJournal;
  // In which the coordinator leads; 0: there is no other one. What is called
  // when a member knows of a later term; null: nothing.
  uint64_t term = 0;
  std::function<void(uint64_t term)> later_term = nullptr;
  std::string version = {};  // Of the coordinator.
  // This process is late by so much: it did not run meanwhile, and no lease
  // goes on for that time.
  absl::Duration frozen_after = absl::InfiniteDuration();
  // Must differ from one life of the coordinator to the next.
  uint64_t entropy = 0;
};

// Starts and ends the runs of the book's jobs, and gives them workers, on a
// thread of its own.
//
// Thread-safe. What is guarded is guarded by the book's lock, which comes
// before those of the fleet and of the runs. A disk that hangs holds up the
// thread, but nobody who trains.
class RunControl {
 public:
  // All pointers outlive it.
  RunControl(const JobsOptions& options, const Clock* clock, JobStore* store,
             JobJournal* journal, prometheus::Registry* registry,
             CoordinatorMetrics* metrics, JobBook* book,
             Checkpoints* checkpoints);
  // Cancels what runs. The book is empty then.
  ~RunControl();
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  Fleet& fleet() { return fleet_; }
  const Fleet& fleet() const { return fleet_; }
  const JobHistory& history() const { return history_; }

  // What another life of the coordinator has left in the book: the jobs that
  // ran go on as their journals say; without one they are PAUSED, at their last
  // checkpoint. Then the thread starts. The errors are the store's.
  absl::Status Start();
  // The thread looks at the book soon. Needs no lock, and may be called with
  // the book's.
  void Wake();
  // Writes what the job's run has told into the book. Verbs do so first, for
  // callers may have seen what it says. REQUIRES: the book's lock is held.
  void TakeNews(JobEntry& entry);
  // The job's progress becomes what it goes on with, wherever its run has been.
  // REQUIRES: the book's lock is held.
  void SetBack(const JobEntry& entry, v1::Job& job) const;
  // Some job has a run.
  bool any_runs() const;
  // Jobs::Drain().
  void Drain(absl::Duration grace);

 private:
  absl::Status TakeOver(JobEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Whether the job's run goes on.
  bool GoOn(JobEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Of a run that goes on, and the spec that is stored of its job: what one of
  // them was not told any more it has from the other.
  static void Reconcile(JobRun& run, v1::JobSpec& spec);
  // What a run tells things to, unless the entry has it.
  absl::Status MakeNews(JobEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Of what a run is told and asks; the rest is the plan's, or the journal's.
  RunSetup SetupFor(const JobEntry& entry)
      ABSL_SHARED_LOCKS_REQUIRED(book_->mu());
  // Of runs that go on: servers that have not come back are lost.
  void LoseAwaitedServers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Journals that take too long to be read begin anew: in another run of their
  // job. Without checkpoints there is none to go on from, and they get longer.
  // What was given up and is still there is removed.
  void TendJournals() ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());

  void Control();
  // `over` gets the runs that have ended, to be destroyed without the lock.
  void Turn(std::vector<std::shared_ptr<JobRun>>& over)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Whether what its run has trained can be saved: in its state, its reason.
  void NoteSaving(JobEntry& entry, const RunNews::Changes& changes,
                  v1::Job& job);
  void RunEnded(JobEntry& entry, JobRun& run, const RunOutcome& outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Ends the job's run so that the job can go on in another one; does nothing
  // where there are no checkpoints.
  void Interrupt(JobEntry& entry, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // The process ends, and what the job's run has trained is not saved: it is
  // PAUSED, at its last checkpoint.
  void LeaveUnsaved(JobEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Interrupts those that a parameter server hosts which is about to go.
  void LeaveServers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());

  void AssignWorkers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Says of those that lack something besides workers what that is.
  std::vector<AssignableJob> AssignableJobs()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // The fleet's members, as what can be assigned to the busy jobs.
  std::vector<AssignableWorker> AssignableWorkers()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Takes over what is known of the checkpoint folders, and tells the servers.
  void LookAtFolders() ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  // Finds what the job needs to start but workers. UNAVAILABLE, NOT_FOUND, or
  // the store's errors.
  absl::Status FindWhatItNeeds(JobEntry& entry,
                               const std::vector<v1::Server>& servers) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  void StartRun(JobEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  absl::Status AdmitParameters(const std::string& name, int64_t bytes)
      ABSL_LOCKS_EXCLUDED(book_->mu());
  void SetWaiting(JobEntry& entry, absl::string_view reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());
  void CountStates() ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu());

  const JobsOptions options_;
  const Clock* const clock_;
  JobStore* const store_;
  JobJournal* const journal_;
  prometheus::Registry* const registry_;
  CoordinatorMetrics* const metrics_;
  JobBook* const book_;
  Checkpoints* const checkpoints_;
  Inbox inbox_;
  const JobHistory history_;
  Fleet fleet_;

  uint64_t rows_lost_ ABSL_GUARDED_BY(book_->mu()) = 0;  // The metric has them.
  bool draining_ ABSL_GUARDED_BY(book_->mu()) = false;   // Nothing is started.
  absl::Time servers_awaited_until_ ABSL_GUARDED_BY(book_->mu());
  absl::Time settled_by_ ABSL_GUARDED_BY(book_->mu());  // Checkpoints are.
  std::vector<FolderState> folders_ ABSL_GUARDED_BY(book_->mu());

  std::thread control_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_CONTROL_H_
