#ifndef PACELINE_SERVICES_WORKER_DEVICE_CHOICE_H_
#define PACELINE_SERVICES_WORKER_DEVICE_CHOICE_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Devices of one worker, at most: as many GPUs as the largest machines have.
inline constexpr size_t kDevicesMax = 16;

// What --device asks for.
struct DeviceChoice {
  enum class Kind {
    kAuto,  // The first GPU, else the CPU.
    kCpu,
    kGpu,  // They must be there.
  };
  Kind kind = Kind::kAuto;
  // An entry for each device: a GPU's number, different ones. What a CPU's is
  // means nothing.
  std::vector<int> devices = {0};
};

// Reads "auto"; "cpu", or several of it: "cpu,cpu"; "cuda" or "cuda:N", or
// several of these. INVALID_ARGUMENT for anything else: another name, a GPU
// named twice, a CPU beside a GPU, more than kDevicesMax.
absl::StatusOr<DeviceChoice> ParseDeviceChoice(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DEVICE_CHOICE_H_
