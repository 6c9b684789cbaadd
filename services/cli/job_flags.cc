#include "services/cli/job_flags.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/coordinator/policy/rate_schedule.h"
#include "services/parameter_server/optimizer_spec.h"
#include "services/parameter_server/update_rule.h"

namespace paceline {
namespace {

constexpr int64_t kMostBatch = 65536;
constexpr int64_t kMostEpochs = 1'000'000;

// Snapshots of one epoch, unless --eval-every says otherwise.
constexpr int64_t kSnapshotsPerEpoch = 20;

absl::Status CheckNumbers(const JobFlags& flags) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--epochs", flags.epochs, 1, kMostEpochs));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--batch-size", flags.batch_size, 1, kMostBatch));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--micro-batch", flags.micro_batch, 0, flags.batch_size));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--eval-every", flags.eval_every, 0, INT64_MAX));
  // Written so that it also refuses what is no number.
  if (!(flags.learning_rate > 0 && flags.learning_rate <= kRateMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--learning-rate ", flags.learning_rate,
                     ": must be above 0 and at most ", kRateMax));
  }
  if (!(flags.target_accuracy >= 0 && flags.target_accuracy <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--target-accuracy ", flags.target_accuracy,
                     ": must be a share, above 0 and at most 1"));
  }
  if (flags.stop_at_target && flags.target_accuracy == 0) {
    return absl::InvalidArgumentError(
        "--stop-at-target needs a --target-accuracy");
  }
  return absl::OkStatus();
}

}  // namespace

void AddJobFlags(CLI::App& command, JobFlags& flags) {
  command
      .add_option("--paradigm", flags.paradigms,
                  "How workers are synchronized; given again: one more run on "
                  "the same data, seed and weights")
      ->allow_extra_args(false)
      ->default_str("bsp");
  command
      .add_option("--switch-at", flags.switch_at,
                  "SHARE%=PARADIGM: takes over in every run after that share "
                  "of the samples (of the time, where they do not end); may be "
                  "given again")
      ->allow_extra_args(false)
      ->default_str("");
  command.add_option("--batching", flags.batching,
                     "even: all workers compute equal batches; balanced: in "
                     "proportion to their measured rates");
  command.add_option("--epochs", flags.epochs, "Passes over the data");
  command.add_option("--batch-size", flags.batch_size, "Samples of one push");
  command.add_option("--micro-batch", flags.micro_batch,
                     "Samples computed at once; 0: the batch size");
  command.add_option("--learning-rate", flags.learning_rate,
                     "Of one push of a full batch");
  command.add_option("--optimizer", flags.optimizer, "At the servers");
  command.add_option("--schedule", flags.schedule,
                     "Of the learning rate, by samples counted");
  command.add_option("--round-strength", flags.round_strength,
                     "How a round's step grows with its samples: linear, sqrt "
                     "or constant");
  command.add_option("--seed", flags.seed,
                     "Of all chance: weights, sample order, virtual time");
  command.add_option("--eval-every", flags.eval_every,
                     "Samples between evaluations; 0: a twentieth of an epoch");
  command.add_option("--target-accuracy", flags.target_accuracy,
                     "Measure the seconds until it is reached");
  command.add_flag("--stop-at-target", flags.stop_at_target,
                   "End the run there");
  command.add_option("--lease", flags.lease,
                     "A member not heard for so long is lost");
  command.add_option("-o,--output", flags.output, "table or json");
}

absl::Status CheckJobFlags(const JobFlags& flags) {
  PACELINE_RETURN_IF_ERROR(CheckNumbers(flags));
  for (const std::string& paradigm : flags.paradigms) {
    PACELINE_RETURN_IF_ERROR(Annotate(MakePolicy(paradigm).status(),
                                      absl::StrCat("--paradigm ", paradigm)));
  }
  PACELINE_RETURN_IF_ERROR(
      Annotate(ParseOptimizerSpec(flags.optimizer).status(),
               absl::StrCat("--optimizer ", flags.optimizer)));
  PACELINE_RETURN_IF_ERROR(
      Annotate(ParseRateSpec(flags.schedule).status(),
               absl::StrCat("--schedule ", flags.schedule)));
  PACELINE_RETURN_IF_ERROR(CheckOneOf("--round-strength", flags.round_strength,
                                      {"linear", "sqrt", "constant"}));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--batching", flags.batching, {"even", "balanced"}));
  return CheckOneOf("--output", flags.output, {"table", "json"});
}

int64_t EvaluationInterval(int64_t eval_every, int64_t train_samples) {
  if (eval_every > 0) return eval_every;
  return std::max<int64_t>(1, train_samples / kSnapshotsPerEpoch);
}

}  // namespace paceline
