#ifndef PACELINE_SERVICES_WORKER_DEVICE_INFO_H_
#define PACELINE_SERVICES_WORKER_DEVICE_INFO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The device that a worker computes on, as it is announced.
struct DeviceInfo {
  std::string device;     // "cpu"
  std::string gpu_model;  // Empty: none.
  uint64_t memory_bytes = 0;
};

// Of --device: "cpu", or "auto" for the best that this build and machine have,
// which is the CPU. INVALID_ARGUMENT for another one.
absl::StatusOr<DeviceInfo> DescribeDevice(absl::string_view device);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DEVICE_INFO_H_
