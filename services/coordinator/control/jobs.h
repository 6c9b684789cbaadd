#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_JOBS_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_JOBS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
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
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/control/active_run.h"
#include "services/coordinator/control/run_news.h"
#include "services/coordinator/coordinator_metrics.h"
#include "services/coordinator/fleet/assignment.h"
#include "services/coordinator/fleet/fleet.h"
#include "services/coordinator/jobs/digest.h"
#include "services/coordinator/jobs/job_state.h"
#include "services/coordinator/jobs/resource_name.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/store/job_store.h"
#include "services/coordinator/watch/job_events.h"

namespace paceline {

struct JobsOptions {
  absl::Duration lease = absl::Seconds(10);
  v1::Quota quota = {};  // Of each namespace.
  // Below it each job has a folder, named by its uid; empty: no checkpoints.
  std::string checkpoint_root = {};
  // Gets each run's iterations, JOB-RUN.jsonl; empty: nothing is recorded.
  std::string trace_root = {};
  // Must differ from one life of the coordinator to the next.
  uint64_t entropy = 0;
};

// All jobs of the cluster: what callers ask for, what becomes of it, and which
// workers work for which. Every change is in the store before it is answered.
// A thread of its own starts and ends runs and assigns workers.
//
// Thread-safe. Its lock comes before the fleet's and the runs', and is held
// while the store writes and files of checkpoints are removed: a disk that
// hangs holds up callers and the thread, but nobody who trains.
class Jobs {
 public:
  // Takes the store's jobs over: those that ran are PAUSED, at their last
  // checkpoint. The pointers outlive it. The errors are the store's.
  static absl::StatusOr<std::unique_ptr<Jobs>> Create(
      const JobsOptions& options, const Clock* clock, JobStore* store,
      JobJournal* journal, prometheus::Registry* registry);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  Fleet& fleet() { return fleet_; }
  std::vector<v1::Server> Servers() const { return fleet_.Servers(); }
  const JobsOptions& options() const { return options_; }

  // The methods of JobService; the codes are those of jobs.proto. `identity` is
  // the caller's, to whom request ids belong; `traceparent` the call's, if any.
  absl::StatusOr<v1::Job> CreateJob(const v1::CreateJobRequest& request,
                                    const std::string& identity,
                                    const std::string& traceparent = "");
  absl::StatusOr<v1::Job> GetJob(const v1::GetJobRequest& request) const;
  absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request) const;
  absl::StatusOr<v1::Job> UpdateJob(const v1::UpdateJobRequest& request,
                                    const std::string& identity);
  absl::Status DeleteJob(const v1::DeleteJobRequest& request);
  absl::StatusOr<v1::Job> PauseJob(const v1::PauseJobRequest& request,
                                   const std::string& identity);
  absl::StatusOr<v1::Job> ResumeJob(const v1::ResumeJobRequest& request,
                                    const std::string& identity,
                                    const std::string& traceparent = "");
  absl::StatusOr<v1::Job> CancelJob(const v1::CancelJobRequest& request,
                                    const std::string& identity);
  absl::StatusOr<v1::Job> SwitchParadigm(
      const v1::SwitchParadigmRequest& request, const std::string& identity);
  absl::StatusOr<v1::Job> RestoreJob(const v1::RestoreJobRequest& request,
                                     const std::string& identity,
                                     const std::string& traceparent = "");
  // What happens to the job, from now on.
  absl::StatusOr<std::shared_ptr<JobEvents>> WatchJob(
      const v1::WatchJobRequest& request);
  absl::StatusOr<v1::ListDecisionsResponse> ListDecisions(
      const v1::ListDecisionsRequest& request) const;
  absl::StatusOr<v1::ListAccuracyPointsResponse> ListAccuracyPoints(
      const v1::ListAccuracyPointsRequest& request) const;
  absl::StatusOr<v1::JobReport> GetJobReport(
      const v1::GetJobReportRequest& request) const;
  absl::StatusOr<v1::Checkpoint> CreateCheckpoint(
      const v1::CreateCheckpointRequest& request, const std::string& identity);
  absl::StatusOr<v1::Checkpoint> GetCheckpoint(
      const v1::GetCheckpointRequest& request) const;
  absl::StatusOr<v1::ListCheckpointsResponse> ListCheckpoints(
      const v1::ListCheckpointsRequest& request) const;
  absl::Status DeleteCheckpoint(const v1::DeleteCheckpointRequest& request);

  // Those of ClusterService about workers.
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers(
      const v1::ListWorkersRequest& request) const;
  absl::StatusOr<v1::Worker> GetWorker(const std::string& name) const;
  absl::StatusOr<v1::Worker> SetDraining(const std::string& name,
                                         bool draining);

  // Saves what runs and starts nothing any more. Those jobs are PENDING then,
  // and go on when the coordinator is there again; those that do not manage
  // within `grace` are left where their last checkpoint is, and will be PAUSED.
  // From then on no job changes any more, whatever its members do: calls that
  // would change one are UNAVAILABLE.
  void Drain(absl::Duration grace);

 private:
  struct Entry {
    // `progress` as it was when the last run ended, but for the parameters,
    // which are those that were admitted.
    v1::Job job;
    JobNumber number = 0;
    // Made when they are first needed. Without the events no news.
    std::shared_ptr<JobEvents> events = {};
    std::shared_ptr<RunNews> news = {};
    std::shared_ptr<JobMetrics> metrics = {};
    std::unique_ptr<ActiveRun> active = {};
    // What `job.restore_from` was found to be.
    v1::Checkpoint from = {};
    // The last decision of news that are gone: it may still wait for the disk.
    int64_t last_decision = 0;
    // What has happened and could not be stored yet.
    StoreBatch unsaved = {};
    absl::Time evaluated_until = absl::InfinitePast();
    // If its run is being saved for the job to go on in another: why.
    std::string interrupted = {};
  };
  using Entries = std::map<std::string, Entry>;

  Jobs(const JobsOptions& options, const Clock* clock, JobStore* store,
       JobJournal* journal, prometheus::Registry* registry);

  // jobs.cc: what callers ask for.
  absl::StatusOr<Entry*> Find(const JobName& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<const Entry*> Find(const JobName& name) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // What a request with an id is, for recognizing it again.
  struct Asked {
    std::string identity;
    std::string request_id;
    std::string digest;
  };
  template <typename Request>
  static Asked AskedBy(const std::string& identity, const Request& request) {
    if (request.request_id().empty()) return {};
    return {identity, request.request_id(),
            absl::StrCat(request.GetTypeName(), " ", DigestOf(request))};
  }
  // The job that the same request changed before; nothing if it is new.
  // INVALID_ARGUMENT if the id is another request's.
  absl::StatusOr<std::optional<v1::Job>> Repeated(const Asked& asked) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Pause, resume, cancel: `change` completes the job, `act` follows once it is
  // stored.
  template <typename Request>
  absl::StatusOr<v1::Job> Apply(
      const Request& request, const std::string& identity, JobEvent event,
      const std::function<absl::Status(v1::Job&)>& change,
      const std::function<void(Entry&)>& act);
  // Stores the job, shows it to its watchers, and makes it the entry's.
  absl::Status Commit(Entry& entry, v1::Job job, const Asked& asked = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same for what has happened: a store that fails cannot undo it, and is
  // tried again until it has it.
  void Note(Entry& entry, v1::Job job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // For those who look and watch, and not for the store: why a job waits is
  // found anew after a restart, and one free worker more changes it for every
  // job that waits.
  void ShowOnly(Entry& entry, v1::Job job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Stores what is unsaved, unless the store has failed a moment ago.
  void Save(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The job is the entry's, and its watchers see it.
  void Show(Entry& entry, v1::Job job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetBusy(const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::Job View(const Entry& entry) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  std::vector<const v1::Job*> JobsOf(absl::string_view name_space) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // Counts what a quota has refused; `checked` again.
  absl::Status NoteQuota(const absl::Status& checked);
  // FAILED_PRECONDITION once the job has trained all that it was to.
  absl::Status CheckTrains(const Entry& entry) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);

  // jobs_interruption.cc: ends the job's run so that the job can go on in
  // another one; nothing where there are no checkpoints.
  void Interrupt(Entry& entry, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Interrupts those that a parameter server hosts which is about to go.
  void LeaveServers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // UNAVAILABLE after Drain().
  absl::Status CheckOpen() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  // jobs_reads.cc: fills what is measured of the worker in its job.
  void Measure(v1::Worker& worker) const;

  // jobs_checkpoints.cc
  std::string FolderOf(const v1::Job& job) const;
  // Newest first, as they are by now, be that stored or not.
  absl::StatusOr<std::vector<v1::Checkpoint>> CheckpointsOf(
      const Entry& entry) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  absl::StatusOr<v1::Checkpoint> FindCheckpoint(
      const CheckpointName& name) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // Of the newest that is READY.
  absl::StatusOr<std::string> NewestCheckpoint(const Entry& entry) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  // A checkpoint of the run, whose `name` is the id alone, as callers see it;
  // it is unsaved.
  v1::Checkpoint NoteCheckpoint(Entry& entry, v1::Checkpoint checkpoint)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Stored before the run begins it, so that whoever asks again, even after a
  // refusal on the way, gets this one. The run's refusal undoes it.
  absl::Status BeginCheckpoint(Entry& entry, const v1::Checkpoint& checkpoint,
                               const std::string& id, const Asked& asked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PruneCheckpoints(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Files and record, in steps that can be taken again.
  absl::Status RemoveStored(Entry& entry, v1::Checkpoint checkpoint)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RemoveCheckpointFiles(const v1::Checkpoint& checkpoint) const;

  // jobs_restart.cc: what another life of the coordinator has left.
  absl::Status Load();
  absl::Status TakeOver(v1::Job job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The newest that was found whole only now, if any.
  absl::StatusOr<std::string> SettleCheckpoints(const Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // jobs_control.cc: the thread.
  void Control();
  // `over` gets the runs that have ended, to be destroyed without the lock.
  void Turn(std::vector<std::unique_ptr<ActiveRun>>& over)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Before a verb too: callers may have seen what it says.
  void TakeNews(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunEnded(Entry& entry, const JobRun& run, const RunOutcome& outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AssignWorkers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Says of those that lack something besides workers what that is.
  std::vector<AssignableJob> AssignableJobs()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What the job needs to start but workers. UNAVAILABLE, NOT_FOUND, or the
  // store's errors.
  absl::Status FindWhatItNeeds(Entry& entry, size_t servers) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartRun(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AdmitParameters(const std::string& name, int64_t bytes);
  void SetWaiting(Entry& entry, const std::string& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes what watchers need.
  void Prepare(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The next run gets others.
  void ForgetNews(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountStates() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What only those need that somebody still looks at.
  void LetGoOfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake();

  const JobsOptions options_;
  const Clock* const clock_;
  JobStore* const store_;
  JobJournal* const journal_;
  prometheus::Registry* const registry_;
  CoordinatorMetrics metrics_;
  Fleet fleet_;

  mutable absl::Mutex mu_;
  Rng ids_ ABSL_GUARDED_BY(mu_);
  Entries entries_ ABSL_GUARDED_BY(mu_);  // By name.
  // Those that the thread has to look at: waiting, with a run, or unsaved.
  absl::btree_set<std::string> busy_ ABSL_GUARDED_BY(mu_);
  // When the store is tried again that has failed; else in the past.
  absl::Time next_save_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  JobNumber next_number_ ABSL_GUARDED_BY(mu_) = 1;
  uint64_t rows_lost_ ABSL_GUARDED_BY(mu_) = 0;  // That the metric has.
  bool draining_ ABSL_GUARDED_BY(mu_) = false;   // Nothing is started.
  bool drained_ ABSL_GUARDED_BY(mu_) = false;    // No job changes.

  absl::Mutex wake_mu_;  // A leaf.
  bool wake_ ABSL_GUARDED_BY(wake_mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(wake_mu_) = false;

  std::thread control_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_JOBS_H_
