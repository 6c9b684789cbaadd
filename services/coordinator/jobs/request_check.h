#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_REQUEST_CHECK_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_REQUEST_CHECK_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/field_checks.h"
#include "common/job/paradigm_spec.h"
#include "common/rng.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {

// What requests other than CreateJob, UpdateJob and ListJobs say, once they are
// in order. All errors are INVALID_ARGUMENT with a BadRequest that names every
// wrong field.

// Adds a violation of "request_id" unless it is empty or a UUID, as
// "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" in either case.
void CheckRequestId(absl::string_view request_id, FieldChecks& checks);

// Checks a request about one job: `name`, and where it has them `etag` and
// `request_id`.
absl::StatusOr<JobName> CheckJobRequest(absl::string_view name,
                                        absl::string_view etag,
                                        absl::string_view request_id);

// GetJob, GetJobReport.
template <typename Request>
absl::StatusOr<JobName> CheckGet(const Request& request) {
  return CheckJobRequest(request.name(), "", "");
}

// PauseJob, ResumeJob, CancelJob.
template <typename Request>
absl::StatusOr<JobName> CheckVerb(const Request& request) {
  return CheckJobRequest(request.name(), request.etag(), request.request_id());
}

// The resume token is judged by whoever made it, but for its size.
absl::StatusOr<JobName> CheckWatch(const v1::WatchJobRequest& request);

struct ParadigmSwitch {
  JobName job;
  bool automatic = false;  // It is to be chosen: the present one stays for now.
  ParadigmSpec spec;
  std::string paradigm;  // The spec in full, "ssp:s=3".
};
absl::StatusOr<ParadigmSwitch> CheckSwitch(
    const v1::SwitchParadigmRequest& request);

struct JobRestore {
  JobName job;
  std::optional<CheckpointName> checkpoint;  // None: the newest. Of the job.
};
absl::StatusOr<JobRestore> CheckRestore(const v1::RestoreJobRequest& request);

// The checkpoint's name; its id is drawn from `ids` if it is left out. The
// directory, if there is one, is an absolute path or s3://BUCKET/PREFIX.
absl::StatusOr<CheckpointName> CheckCreateCheckpoint(
    const v1::CreateCheckpointRequest& request, Rng& ids);

// The file is one that a checkpoint may have, the offset no less than 0.
absl::StatusOr<CheckpointName> CheckReading(
    const v1::ReadCheckpointRequest& request);

// A page of a list below a job. Checkpoints are paged by NewestFirstKey().
template <typename Page>
struct JobPage {
  JobName job;
  Page page;
};
absl::StatusOr<JobPage<SequencePage>> CheckList(
    const v1::ListDecisionsRequest& request);
absl::StatusOr<JobPage<SequencePage>> CheckList(
    const v1::ListAccuracyPointsRequest& request);
absl::StatusOr<JobPage<SequencePage>> CheckList(
    const v1::ListIterationsRequest& request);
absl::StatusOr<JobPage<PageStart>> CheckList(
    const v1::ListCheckpointsRequest& request);

// A page of a list of the cluster: members by name; records newest first,
// `after` being the sequence number before which the page begins, 0 for the
// newest.
absl::StatusOr<PageStart> CheckList(const v1::ListWorkersRequest& request);
absl::StatusOr<PageStart> CheckList(const v1::ListServersRequest& request);
absl::StatusOr<SequencePage> CheckList(
    const v1::ListAuditRecordsRequest& request);

// A member's log: how many lines; 0: all.
absl::StatusOr<uint32_t> CheckTail(int32_t tail);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_REQUEST_CHECK_H_
