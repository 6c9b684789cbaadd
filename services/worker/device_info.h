#ifndef PACELINE_SERVICES_WORKER_DEVICE_INFO_H_
#define PACELINE_SERVICES_WORKER_DEVICE_INFO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// The device that a worker computes on, as it is announced.
struct DeviceInfo {
  std::string device;     // "cpu", "cuda": the name of its backend.
  std::string gpu_model;  // Empty: none.
  uint64_t memory_bytes = 0;
  int gpu = 0;                          // Which one, if it is one.
  std::string compute_capability = {};  // "9.0"; empty: no GPU.
  std::string gpu_uuid = {};
  // Why it is not a GPU, though one would have been taken; empty otherwise.
  std::string no_gpu = {};
};

// Finds the device of --device, as ParseDeviceChoice() reads it. Its errors,
// and those of FindGpu() for a GPU that must be there.
absl::StatusOr<DeviceInfo> DescribeDevice(absl::string_view device);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DEVICE_INFO_H_
