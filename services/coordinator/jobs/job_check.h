#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_JOB_CHECK_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_JOB_CHECK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/field_checks.h"
#include "common/rng.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {

// The job that the request would create: name, display_name, labels,
// annotations and the spec with its defaults written out, PENDING. Its uid,
// times and etag are the caller's to set; what else the request has is ignored.
// Without a job_id one is drawn from `ids`: if a job of that name exists, call
// again. INVALID_ARGUMENT with a BadRequest that names every wrong field.
absl::StatusOr<v1::Job> CheckCreate(const v1::CreateJobRequest& request,
                                    Rng& ids);

// Adds what is wrong with display_name, labels, annotations and spec of a job
// whose fields are below `prefix`, "job". Returns the spec with its defaults
// written out, which means something only if nothing was added.
v1::JobSpec CheckJob(absl::string_view prefix, const v1::Job& job,
                     FieldChecks& checks);

// The name of the job that the request is about. INVALID_ARGUMENT if that, the
// mask or the request_id is none, or the mask names what cannot be changed.
absl::StatusOr<JobName> CheckUpdate(const v1::UpdateJobRequest& request);

// `current` with the fields that the mask names changed, the spec complete
// again. update_time and etag are the caller's to set. Of several errors the
// first of
//   INVALID_ARGUMENT     CheckUpdate()'s.
//   ABORTED              `job.etag` is given and is not the present one.
//   FAILED_PRECONDITION  the job has ended or is about to.
//   INVALID_ARGUMENT     a value is wrong; every such field is named.
absl::StatusOr<v1::Job> ApplyUpdate(const v1::Job& current,
                                    const v1::UpdateJobRequest& request);

// For people: "learning_rate 0.001, stop.epochs 3". What a mask names and is
// not given is "unset"; of labels and the like only that they are others.
// REQUIRES: CheckUpdate() has found nothing.
std::string DescribeUpdate(const v1::UpdateJobRequest& request);

// ABORTED if `etag` is given and is not that of `current`.
absl::Status CheckEtag(const v1::Job& current, absl::string_view etag);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_JOB_CHECK_H_
