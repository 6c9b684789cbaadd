#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_JOB_QUOTA_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_JOB_QUOTA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// What one namespace may have (v1::Quota; 0 is no limit).

// Whether `job` may be created, or restored after it has ended, beside `jobs`,
// which are all of its namespace; `job` itself may be among them and is not
// counted twice. RESOURCE_EXHAUSTED (QUOTA_EXCEEDED, subject
// "namespace:NAMESPACE") if
//   - as many jobs as allowed have not ended yet;
//   - it cannot start with fewer workers than the namespace may have;
//   - the parameters of the others, as far as they are known, leave no room.
// The workers of several jobs are not summed up: a job may wait for others'.
absl::Status CheckJobQuota(const v1::Quota& quota,
                           absl::Span<const v1::Job* const> jobs,
                           const v1::Job& job);

// The second of these alone, for a job that is there and now needs more.
absl::Status CheckWorkerQuota(const v1::Quota& quota, const v1::Job& job);

// Whether `job`, now known to have `parameters` (fp32, 4 bytes each), may hold
// them beside `jobs`. RESOURCE_EXHAUSTED likewise.
absl::Status CheckParameterQuota(const v1::Quota& quota,
                                 absl::Span<const v1::Job* const> jobs,
                                 const v1::Job& job, int64_t parameters);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_JOB_QUOTA_H_
