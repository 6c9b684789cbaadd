#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_JOBS_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_JOBS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/security/namespaces.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/control/checkpoints.h"
#include "services/coordinator/control/job_book.h"
#include "services/coordinator/control/planning.h"
#include "services/coordinator/control/run_control.h"
#include "services/coordinator/coordinator_metrics.h"
#include "services/coordinator/fleet/fleet.h"
#include "services/coordinator/jobs/job_state.h"
#include "services/coordinator/jobs/resource_name.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/store/job_store.h"
#include "services/coordinator/watch/job_events.h"

namespace paceline {

// For what is written beside the calls. A slow disk delays an answer by that.
inline constexpr absl::Duration kFlushTimeout = absl::Seconds(1);

// All jobs of the cluster, as callers of the API see them: what they ask for,
// and what they want to see. The jobs themselves are in the JobBook; RunControl
// has the runs, Checkpoints the checkpoints. Every change is in the store
// before it is answered. Lists have what is in the caller's namespaces,
// `visible`; whether the caller may ask about one job is not asked here.
//
// Thread-safe. All of it has one lock, the book's.
class Jobs {
 public:
  // As RunControl::Start(). The pointers outlive it.
  static absl::StatusOr<std::unique_ptr<Jobs>> Create(
      const JobsOptions& options, const Clock* clock, JobStore* store,
      JobJournal* journal, prometheus::Registry* registry);
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  Fleet& fleet() { return runs_.fleet(); }
  const JobsOptions& options() const { return options_; }

  // The methods of JobService; the codes are those of jobs.proto. `identity` is
  // the caller's, to whom request ids belong; `traceparent` the call's, if any.
  absl::StatusOr<v1::Job> CreateJob(const v1::CreateJobRequest& request,
                                    const std::string& identity,
                                    const std::string& traceparent = "");
  absl::StatusOr<v1::Job> GetJob(const v1::GetJobRequest& request) const;
  absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request, const Namespaces& visible) const;
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
  // For who watches: reads that job's history. It must not outlive this.
  JobEvents::ReadHistory HistoryOf(const std::string& name) const;
  absl::StatusOr<v1::ListDecisionsResponse> ListDecisions(
      const v1::ListDecisionsRequest& request) const;
  absl::StatusOr<v1::ListAccuracyPointsResponse> ListAccuracyPoints(
      const v1::ListAccuracyPointsRequest& request) const;
  absl::StatusOr<v1::ListIterationsResponse> ListIterations(
      const v1::ListIterationsRequest& request) const;
  absl::StatusOr<v1::JobReport> GetJobReport(
      const v1::GetJobReportRequest& request) const;
  absl::StatusOr<v1::Checkpoint> CreateCheckpoint(
      const v1::CreateCheckpointRequest& request, const std::string& identity);
  absl::StatusOr<v1::Checkpoint> GetCheckpoint(
      const v1::GetCheckpointRequest& request) const;
  absl::StatusOr<v1::ListCheckpointsResponse> ListCheckpoints(
      const v1::ListCheckpointsRequest& request) const;
  absl::StatusOr<v1::ReadCheckpointResponse> ReadCheckpoint(
      const v1::ReadCheckpointRequest& request);
  absl::Status DeleteCheckpoint(const v1::DeleteCheckpointRequest& request);

  // Those of ClusterService.
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers(
      const v1::ListWorkersRequest& request) const;
  absl::StatusOr<v1::ListServersResponse> ListServers(
      const v1::ListServersRequest& request) const;
  absl::StatusOr<v1::ListAuditRecordsResponse> ListAuditRecords(
      const v1::ListAuditRecordsRequest& request,
      const Namespaces& visible) const;
  absl::StatusOr<v1::Worker> GetWorker(const std::string& name) const;
  absl::StatusOr<v1::Worker> SetDraining(const std::string& name,
                                         bool draining);
  absl::StatusOr<v1::Server> SetServerDraining(const std::string& name,
                                               bool draining);

  // Saves what runs and starts nothing any more. Those jobs are PENDING then,
  // and go on when the coordinator is there again; those that do not manage
  // within `grace` will be PAUSED where their last checkpoint is. Nothing
  // changes any job from then on: calls that would are UNAVAILABLE.
  void Drain(absl::Duration grace) { runs_.Drain(grace); }
  bool any_runs() const { return runs_.any_runs(); }
  const CoordinatorMetrics& metrics() const { return metrics_; }

 private:
  Jobs(const JobsOptions& options, const Clock* clock, JobStore* store,
       JobJournal* journal, prometheus::Registry* registry);

  // Pause, resume, cancel, switch, restore: `change` completes the job of the
  // entry, `act` follows once it is stored. Both are called with the lock held.
  // REQUIRES: the request's name is one.
  template <typename Request>
  absl::StatusOr<v1::Job> Apply(
      const Request& request, const std::string& identity, JobEvent event,
      const std::function<absl::Status(const JobEntry&, v1::Job&)>& change,
      const std::function<void(JobEntry&)>& act);
  // What the job of that name, which an earlier request was about, is by now.
  absl::StatusOr<v1::Job> View(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_.mu());
  absl::Status NoteQuota(const absl::Status& checked);
  // One that has ended and is over. The codes are those of DeleteJob.
  absl::StatusOr<JobEntry*> FindToDelete(const JobName& name,
                                         const std::string& etag)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_.mu());
  // INVALID_ARGUMENT if the job wants checkpoints regularly and none are kept.
  absl::Status CheckInterval(const v1::Job& job) const;
  absl::StatusOr<v1::Checkpoint> FindCheckpoint(const CheckpointName& name)
      const ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_.mu());
  // The job's uid, once what was told of it before the call is stored, unless
  // the disk is slow.
  absl::StatusOr<std::string> FlushedHistoryOf(const JobName& job) const;
  // Fills what is measured of them in their jobs.
  void Measure(google::protobuf::RepeatedPtrField<v1::Worker>& workers) const;
  v1::JobProgress ProgressOf(const std::string& job) const;  // Or empty.

  const JobsOptions options_;
  JobStore* const store_;
  JobJournal* const journal_;
  CoordinatorMetrics metrics_;
  JobBook book_;
  Checkpoints checkpoints_;
  RunControl runs_;                   // Its thread uses the above.
  std::optional<Planning> planning_;  // The same, once it has started.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_JOBS_H_
