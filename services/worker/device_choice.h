#ifndef PACELINE_SERVICES_WORKER_DEVICE_CHOICE_H_
#define PACELINE_SERVICES_WORKER_DEVICE_CHOICE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// What --device asks for.
struct DeviceChoice {
  enum class Kind {
    kAuto,  // The first GPU, else the CPU.
    kCpu,
    kGpu,  // It must be there.
  };
  Kind kind = Kind::kAuto;
  int gpu = 0;
};

// Reads "auto", "cpu", "cuda" or "cuda:N". INVALID_ARGUMENT for anything else.
absl::StatusOr<DeviceChoice> ParseDeviceChoice(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DEVICE_CHOICE_H_
