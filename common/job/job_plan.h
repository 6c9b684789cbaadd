#ifndef PACELINE_COMMON_JOB_JOB_PLAN_H_
#define PACELINE_COMMON_JOB_JOB_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/field_checks.h"
#include "common/job/optimizer_spec.h"
#include "common/job/paradigm_spec.h"
#include "common/job/rate_spec.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// A job's spec, checked and read once: whoever has a plan need not ask again
// whether a text of it can be parsed.
struct JobPlan {
  // The spec with the defaults of job_defaults.h written out, and with its
  // paradigms in full, "ssp" as "ssp:s=3". What stays 0 depends on what is
  // there when the job starts: `servers`, `workers.max`, `evaluation.every`.
  v1::JobSpec spec;

  // These are what the texts of `spec` mean.
  ParadigmSpec paradigm;
  std::vector<ScheduledSwitch> switches;
  OptimizerSpec optimizer;
  RateSpec rate;
  RoundStrength round_strength = RoundStrength::kLinear;
  Batching batching = Batching::kEven;
  DataAssignment data_assignment = DataAssignment::kDynamic;
};

// Reads a spec; what is left out takes its default, but for the model and the
// data. INVALID_ARGUMENT with a BadRequest that names every wrong field.
// Whether a directory holds its data only a worker can tell.
absl::StatusOr<JobPlan> ParseJob(const v1::JobSpec& spec);

// Does the same for a spec within a request: adds what is wrong to `checks`,
// with the fields' paths below `prefix`, as "job.spec". The plan means
// something only if nothing was added.
JobPlan ParseJob(absl::string_view prefix, const v1::JobSpec& spec,
                 FieldChecks& checks);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_JOB_PLAN_H_
