#include "services/worker/device_choice.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace paceline {

absl::StatusOr<DeviceChoice> ParseDeviceChoice(absl::string_view text) {
  using Kind = DeviceChoice::Kind;
  if (text == "auto") return DeviceChoice{Kind::kAuto};
  if (text == "cpu") return DeviceChoice{Kind::kCpu};
  if (text == "cuda") return DeviceChoice{Kind::kGpu};
  absl::string_view number = text;
  int gpu = 0;
  if (absl::ConsumePrefix(&number, "cuda:") && absl::SimpleAtoi(number, &gpu) &&
      gpu >= 0) {
    return DeviceChoice{Kind::kGpu, gpu};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("device \"", text, "\": want auto, cpu, cuda or cuda:N"));
}

}  // namespace paceline
