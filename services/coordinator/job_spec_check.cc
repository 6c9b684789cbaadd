#include "services/coordinator/job_spec_check.h"

#include <cstdint>

#include "common/status.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {
namespace {

absl::Status CheckSynchronization(const v1::JobSpec& spec) {
  PACELINE_RETURN_IF_ERROR(MakePolicy(spec.paradigm()).status());
  if (!spec.batching().empty() && spec.batching() != "even" &&
      spec.batching() != "balanced") {
    return absl::InvalidArgumentError("batching is even or balanced");
  }
  int64_t last_switch = 0;
  for (const v1::PlannedSwitch& planned : spec.switches()) {
    PACELINE_RETURN_IF_ERROR(
        Annotate(MakePolicy(planned.paradigm()).status(), "a planned switch"));
    if (planned.samples() < last_switch) {
      return absl::InvalidArgumentError(
          "planned switches must be in the order of their samples");
    }
    last_switch = planned.samples();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckJobSpec(const v1::JobSpec& spec) {
  if (spec.workers() < 1 || spec.servers() < 1) {
    return absl::InvalidArgumentError(
        "a job needs at least one worker and one server");
  }
  if (spec.batch_size() < 1 || spec.epochs() < 1) {
    return absl::InvalidArgumentError(
        "the batch size and the number of epochs must be at least 1");
  }
  if (spec.lease_ms() < 100) {
    return absl::InvalidArgumentError("the lease must be at least 100 ms");
  }
  if (!(spec.learning_rate() > 0) || spec.learning_rate() > 1e6) {
    return absl::InvalidArgumentError("the learning rate must be positive");
  }
  if (!(spec.max_seconds() >= 0) || !(spec.target_accuracy() >= 0) ||
      spec.target_accuracy() > 1 || spec.eval_every() < 0) {
    return absl::InvalidArgumentError(
        "max_seconds and eval_every must not be negative, and "
        "target_accuracy lies between 0 and 1");
  }
  return CheckSynchronization(spec);
}

}  // namespace paceline
