#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_SPEC_CHECK_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_SPEC_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/types.pb.h"
#include "services/coordinator/jobs/field_checks.h"

namespace paceline {

// Adds everything that is wrong with a job's spec, with the fields' paths below
// `prefix`, "job.spec". What is left out is right, but for the model and the
// data. Whether a directory holds its data only a worker can tell.
void CheckSpec(absl::string_view prefix, const v1::JobSpec& spec,
               FieldChecks& checks);

// The same as a status: INVALID_ARGUMENT with a BadRequest.
absl::Status CheckJobSpec(const v1::JobSpec& spec);

// Writes out the defaults that the comments of JobSpec name, and paradigms in
// full, "ssp" as "ssp:s=3". What stays 0 depends on what is there when the job
// starts: `servers`, `workers.max`, `evaluation.every`.
// REQUIRES: CheckSpec() finds nothing.
void CompleteSpec(v1::JobSpec& spec);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_SPEC_CHECK_H_
