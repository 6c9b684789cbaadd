#include "services/cli/local_options.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/job/duration.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/worker/device_choice.h"

namespace paceline {
namespace {

constexpr int64_t kMaxWorkers = 256;
constexpr int64_t kMaxServers = 64;
constexpr int64_t kMaxThreads = 256;
// The least lease that a coordinator takes, and an hour.
constexpr absl::Duration kMinLease = absl::Milliseconds(100);
constexpr absl::Duration kMaxLease = absl::Hours(1);

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

// Adds what only `paceline local` asks for.
void AddToSpec(const LocalFlags& flags, v1::JobSpec& spec) {
  spec.set_model(flags.model);
  spec.set_data(flags.data);
  v1::WireFormat wire = v1::FP32;
  CHECK(v1::WireFormat_Parse(absl::AsciiStrToUpper(flags.wire), &wire));
  spec.set_wire(wire);
  v1::JobSpec::Precision precision = v1::JobSpec::FP32;
  CHECK(v1::JobSpec::Precision_Parse(absl::AsciiStrToUpper(flags.precision),
                                     &precision));
  spec.set_precision(precision);
  spec.mutable_stop()->set_seconds(flags.max_seconds);
  spec.mutable_evaluation()->set_defer(flags.defer_eval);
  const auto workers = static_cast<uint32_t>(flags.workers);
  spec.mutable_workers()->set_min(workers);
  spec.mutable_workers()->set_max(workers);
  spec.set_servers(static_cast<uint32_t>(flags.servers));
}

}  // namespace

absl::StatusOr<LocalOptions> ParseLocalOptions(const LocalFlags& flags) {
  LocalOptions options;
  PACELINE_ASSIGN_OR_RETURN(options.job, ParseJobFlags(flags));
  PACELINE_RETURN_IF_ERROR(CheckOwnFlags(flags));
  PACELINE_RETURN_IF_ERROR(
      ParseDuration("--lease", flags.lease, kMinLease, kMaxLease).status());
  PACELINE_ASSIGN_OR_RETURN(options.workers, ParseWorkerPaces(flags));
  PACELINE_ASSIGN_OR_RETURN(options.devices, ParseDevices(flags));
  AddToSpec(flags, options.job.spec);
  options.threads = static_cast<int>(flags.threads);
  options.port = static_cast<int>(flags.port);
  options.run_dir = flags.run_dir;
  options.record = flags.record;
  options.json = flags.output == "json";
  return options;
}

}  // namespace paceline
