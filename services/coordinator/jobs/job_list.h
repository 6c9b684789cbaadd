#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_JOB_LIST_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_JOB_LIST_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// The page of `jobs`, which are all that there are and in any order, that the
// request asks for; its cost is linear in the jobs. A job that changes between
// two pages may move from the one to the other, others are not affected.
// INVALID_ARGUMENT, with every field that is wrong: parent, page_size,
// page_token, filter, order_by.
absl::StatusOr<v1::ListJobsResponse> ListJobs(
    const v1::ListJobsRequest& request, absl::Span<const v1::Job* const> jobs);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_JOB_LIST_H_
