#ifndef PACELINE_SERVICES_WORKER_DEVICE_INFO_H_
#define PACELINE_SERVICES_WORKER_DEVICE_INFO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu/gpu_device.h"

namespace paceline {

// What a worker computes on, as it is announced: one device, or several. Of
// several GPUs the model, the capability and the UUID are the first one's.
struct DeviceInfo {
  std::string device;     // "cpu", "cuda": the name of its backends.
  std::string gpu_model;  // Empty: none.
  // Of several GPUs: the smallest one's, times their number, as parts are
  // equal. CPU devices share the machine's.
  uint64_t memory_bytes = 0;
  // DeviceChoice::devices
  std::vector<int> devices = {0};
  std::string compute_capability = {};  // "9.0"; empty: no GPU.
  std::string gpu_uuid = {};
  // Why it is not a GPU, though one would have been taken; empty otherwise.
  std::string no_gpu = {};
  // The models of its GPUs, if they are not all alike; empty otherwise.
  std::string unlike = {};
};

// Of a worker on these GPUs.  REQUIRES: at least one.
DeviceInfo DescribeGpus(absl::Span<const GpuDevice> gpus);

// Finds the devices of --device, as ParseDeviceChoice() reads it. Its errors,
// and those of FindGpu() for a GPU that must be there.
absl::StatusOr<DeviceInfo> DescribeDevice(absl::string_view device);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DEVICE_INFO_H_
