#include "services/cli/local_options.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/worker/device_choice.h"

namespace paceline {
namespace {

constexpr int64_t kMaxWorkers = 256;
constexpr int64_t kMaxServers = 64;
constexpr int64_t kMaxThreads = 256;
constexpr absl::Duration kMinLease = absl::Milliseconds(100);
constexpr absl::Duration kMaxLease = absl::Hours(1);

absl::StatusOr<absl::Duration> ParseLease(const std::string& text) {
  absl::Duration lease;
  if (!absl::ParseDuration(text, &lease)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--lease \"", text, "\": no duration; write for example 500ms or 3s"));
  }
  if (lease >= kMinLease && lease <= kMaxLease) return lease;
  return absl::InvalidArgumentError(absl::StrCat(
      "--lease ", text, ": must be from ", absl::FormatDuration(kMinLease),
      " to ", absl::FormatDuration(kMaxLease)));
}

absl::Status CheckOwnFlags(const LocalFlags& flags) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--workers", flags.workers, 1, kMaxWorkers));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--servers", flags.servers, 1, kMaxServers));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--threads", flags.threads, 1, kMaxThreads));
  PACELINE_RETURN_IF_ERROR(CheckInRange("--port", flags.port, 0, 65535));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--wire", flags.wire, {"fp32", "bf16", "fp16"}));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--precision", flags.precision, {"fp32", "tf32", "bf16"}));
  if (!std::isfinite(flags.max_seconds) || flags.max_seconds < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--max-seconds ", flags.max_seconds, ": must be 0 or more"));
  }
  if (flags.stop_at_target && flags.defer_eval) {
    return absl::InvalidArgumentError(
        "--stop-at-target contradicts --defer-eval: evaluating after the "
        "training cannot end it");
  }
  if (!flags.record.empty() && flags.paradigms.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--record ", flags.record, ": records one run, not ",
                     flags.paradigms.size(), "; give one --paradigm"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ParseDevices(const LocalFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(
      std::vector<std::string> devices,
      PerWorker("--device", flags.device, "auto", flags.workers));
  for (const std::string& device : devices) {
    PACELINE_RETURN_IF_ERROR(
        Annotate(ParseDeviceChoice(device).status(), "--device"));
  }
  return devices;
}

}  // namespace

absl::StatusOr<LocalOptions> ParseLocalOptions(const LocalFlags& flags) {
  PACELINE_RETURN_IF_ERROR(CheckJobFlags(flags));
  PACELINE_RETURN_IF_ERROR(CheckOwnFlags(flags));
  PACELINE_ASSIGN_OR_RETURN(const absl::Duration lease,
                            ParseLease(flags.lease));
  PACELINE_ASSIGN_OR_RETURN(std::vector<SwitchAt> switches,
                            ParseSwitches(flags.switch_at));
  PACELINE_ASSIGN_OR_RETURN(const uint64_t seed, ParseSeedFlag(flags.seed));
  PACELINE_ASSIGN_OR_RETURN(std::vector<WorkerPace> workers,
                            ParseWorkerPaces(flags));
  PACELINE_ASSIGN_OR_RETURN(std::vector<std::string> devices,
                            ParseDevices(flags));
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
                      .precision = flags.precision,
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
                      .devices = std::move(devices),
                      .threads = static_cast<int>(flags.threads),
                      .port = static_cast<int>(flags.port),
                      .run_dir = flags.run_dir,
                      .record = flags.record,
                      .json = flags.output == "json"};
}

}  // namespace paceline
