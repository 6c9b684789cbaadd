#ifndef PACELINE_SERVICES_COORDINATOR_JOB_SPEC_CHECK_H_
#define PACELINE_SERVICES_COORDINATOR_JOB_SPEC_CHECK_H_

#include "absl/status/status.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// INVALID_ARGUMENT, with what would be right, for what in a job's spec the
// coordinator itself can judge; the model, the data and the optimizer are
// judged by those who use them.
absl::Status CheckJobSpec(const v1::JobSpec& spec);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOB_SPEC_CHECK_H_
