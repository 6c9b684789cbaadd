#include "services/cli/local_options.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/coordinator/policy/rate_schedule.h"
#include "services/parameter_server/optimizer_spec.h"

namespace paceline {
namespace {

constexpr int64_t kMaxWorkers = 256;
constexpr int64_t kMaxServers = 64;
constexpr int64_t kMaxBatch = 65536;
constexpr int64_t kMaxThreads = 256;
constexpr int64_t kMaxEpochs = 1'000'000;
constexpr absl::Duration kMinLease = absl::Milliseconds(100);
constexpr absl::Duration kMaxLease = absl::Hours(1);

absl::Status InRange(absl::string_view flag, int64_t value, int64_t lowest,
                     int64_t highest) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " ", value, ": must be from ", lowest, " to ", highest));
}

absl::Status OneOf(absl::string_view flag, absl::string_view value,
                   const std::vector<absl::string_view>& choices) {
  for (absl::string_view choice : choices) {
    if (value == choice) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " \"", value, "\": must be one of ", absl::StrJoin(choices, ", ")));
}

absl::StatusOr<absl::Duration> ParseLease(const std::string& text) {
  absl::Duration lease;
  if (!absl::ParseDuration(text, &lease)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--lease \"", text, "\": no duration; write for example 20ms or 3s"));
  }
  if (lease >= kMinLease && lease <= kMaxLease) return lease;
  return absl::InvalidArgumentError(absl::StrCat(
      "--lease ", text, ": must be from ", absl::FormatDuration(kMinLease),
      " to ", absl::FormatDuration(kMaxLease)));
}

absl::StatusOr<uint64_t> ParseSeed(const std::string& text) {
  uint64_t seed = 0;
  if (absl::SimpleAtoi(text, &seed)) return seed;
  return absl::InvalidArgumentError(absl::StrCat(
      "--seed \"", text, "\": no whole number from 0 to 2^64 - 1"));
}

absl::Status CheckCounts(const LocalFlags& flags) {
  PACELINE_RETURN_IF_ERROR(InRange("--workers", flags.workers, 1, kMaxWorkers));
  PACELINE_RETURN_IF_ERROR(InRange("--servers", flags.servers, 1, kMaxServers));
  PACELINE_RETURN_IF_ERROR(InRange("--epochs", flags.epochs, 1, kMaxEpochs));
  PACELINE_RETURN_IF_ERROR(
      InRange("--batch-size", flags.batch_size, 1, kMaxBatch));
  PACELINE_RETURN_IF_ERROR(
      InRange("--micro-batch", flags.micro_batch, 0, flags.batch_size));
  PACELINE_RETURN_IF_ERROR(InRange("--threads", flags.threads, 1, kMaxThreads));
  PACELINE_RETURN_IF_ERROR(InRange("--port", flags.port, 0, 65535));
  return InRange("--eval-every", flags.eval_every, 0, INT64_MAX);
}

absl::Status CheckNumbers(const LocalFlags& flags) {
  if (!std::isfinite(flags.max_seconds) || flags.max_seconds < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--max-seconds ", flags.max_seconds, ": must be 0 or more"));
  }
  if (!std::isfinite(flags.learning_rate) || flags.learning_rate <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--learning-rate ", flags.learning_rate, ": must be above 0"));
  }
  // Written so that it also refuses what is no number.
  if (!(flags.target_accuracy >= 0 && flags.target_accuracy <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--target-accuracy ", flags.target_accuracy,
                     ": must be a share, above 0 and at most 1"));
  }
  return absl::OkStatus();
}

absl::Status CheckChoices(const LocalFlags& flags) {
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
  PACELINE_RETURN_IF_ERROR(OneOf("--round-strength", flags.round_strength,
                                 {"linear", "sqrt", "constant"}));
  PACELINE_RETURN_IF_ERROR(
      OneOf("--wire", flags.wire, {"fp32", "bf16", "fp16"}));
  PACELINE_RETURN_IF_ERROR(
      OneOf("--batching", flags.batching, {"even", "balanced"}));
  return OneOf("--output", flags.output, {"table", "json"});
}

absl::Status CheckContradictions(const LocalFlags& flags) {
  if (!flags.stop_at_target) return absl::OkStatus();
  if (flags.target_accuracy == 0) {
    return absl::InvalidArgumentError(
        "--stop-at-target needs a --target-accuracy");
  }
  if (flags.defer_eval) {
    return absl::InvalidArgumentError(
        "--stop-at-target contradicts --defer-eval: evaluating after the "
        "training cannot end it");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LocalOptions> ParseLocalOptions(const LocalFlags& flags) {
  PACELINE_RETURN_IF_ERROR(CheckCounts(flags));
  PACELINE_RETURN_IF_ERROR(CheckNumbers(flags));
  PACELINE_RETURN_IF_ERROR(CheckChoices(flags));
  PACELINE_RETURN_IF_ERROR(CheckContradictions(flags));
  PACELINE_ASSIGN_OR_RETURN(const absl::Duration lease,
                            ParseLease(flags.lease));
  PACELINE_ASSIGN_OR_RETURN(std::vector<SwitchAt> switches,
                            ParseSwitches(flags.switch_at));
  PACELINE_ASSIGN_OR_RETURN(const uint64_t seed, ParseSeed(flags.seed));
  PACELINE_ASSIGN_OR_RETURN(std::vector<WorkerPace> workers,
                            ParseWorkerPaces(flags));
  return LocalOptions{.model = flags.model,
                      .data = flags.data,
                      .paradigms = flags.paradigms.empty()
                                       ? std::vector<std::string>{"bsp"}
                                       : flags.paradigms,
                      .switches = std::move(switches),
                      .batching = flags.batching,
                      .optimizer = flags.optimizer,
                      .schedule = flags.schedule,
                      .round_strength = flags.round_strength,
                      .wire = flags.wire,
                      .learning_rate = flags.learning_rate,
                      .batch_size = static_cast<uint32_t>(flags.batch_size),
                      .micro_batch = static_cast<uint32_t>(flags.micro_batch),
                      .epochs = static_cast<uint32_t>(flags.epochs),
                      .max_seconds = flags.max_seconds,
                      .seed = seed,
                      .eval_every = flags.eval_every,
                      .defer_eval = flags.defer_eval,
                      .target_accuracy = flags.target_accuracy,
                      .stop_at_target = flags.stop_at_target,
                      .lease = lease,
                      .servers = static_cast<int>(flags.servers),
                      .workers = std::move(workers),
                      .threads = static_cast<int>(flags.threads),
                      .port = static_cast<int>(flags.port),
                      .run_dir = flags.run_dir,
                      .json = flags.output == "json"};
}

}  // namespace paceline
