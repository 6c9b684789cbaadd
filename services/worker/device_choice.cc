#include "services/worker/device_choice.h"

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status.h"

namespace paceline {
namespace {

using Kind = DeviceChoice::Kind;

// One of a list.
absl::StatusOr<DeviceChoice> ParseOne(absl::string_view name) {
  if (name == "auto") return DeviceChoice{Kind::kAuto};
  if (name == "cpu") return DeviceChoice{Kind::kCpu};
  if (name == "cuda") return DeviceChoice{Kind::kGpu};
  absl::string_view number = name;
  int gpu = 0;
  if (absl::ConsumePrefix(&number, "cuda:") && absl::SimpleAtoi(number, &gpu) &&
      gpu >= 0) {
    return DeviceChoice{Kind::kGpu, {gpu}};
  }
  return absl::InvalidArgumentError("want auto, cpu, cuda or cuda:N");
}

absl::Status Add(const DeviceChoice& one, DeviceChoice& choice) {
  if (one.kind == Kind::kAuto || choice.kind == Kind::kAuto) {
    return absl::InvalidArgumentError("auto stands alone");
  }
  if (one.kind != choice.kind) {
    return absl::InvalidArgumentError(
        "one worker computes on GPUs or on the CPU, not on both");
  }
  const int gpu = one.devices[0];
  if (one.kind == Kind::kGpu && absl::c_linear_search(choice.devices, gpu)) {
    return absl::InvalidArgumentError(
        absl::StrCat("GPU ", gpu, " is named twice"));
  }
  choice.devices.push_back(gpu);
  return absl::OkStatus();
}

absl::StatusOr<DeviceChoice> ParseList(absl::string_view text) {
  const std::vector<absl::string_view> names = absl::StrSplit(text, ',');
  if (names.size() > kDevicesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("at most ", kDevicesMax, " devices make a worker"));
  }
  PACELINE_ASSIGN_OR_RETURN(DeviceChoice choice, ParseOne(names[0]));
  for (size_t i = 1; i < names.size(); ++i) {
    PACELINE_ASSIGN_OR_RETURN(const DeviceChoice one, ParseOne(names[i]));
    PACELINE_RETURN_IF_ERROR(Add(one, choice));
  }
  return choice;
}

}  // namespace

absl::StatusOr<DeviceChoice> ParseDeviceChoice(absl::string_view text) {
  return Annotate(ParseList(text), absl::StrCat("device \"", text, "\""));
}

}  // namespace paceline
