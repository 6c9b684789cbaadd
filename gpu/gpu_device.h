#ifndef PACELINE_GPU_GPU_DEVICE_H_
#define PACELINE_GPU_GPU_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace paceline {

// A GPU, as its runtime describes it.
struct GpuDevice {
  int ordinal = 0;
  std::string name;                // "NVIDIA H100 PCIe"
  std::string uuid;                // "GPU-7c1e6a3c-..."
  std::string compute_capability;  // "9.0"
  uint64_t memory_bytes = 0;
};

// The GPU of that number, from 0. UNAVAILABLE, with the reason in words: no
// driver, no such GPU, or one that this build has no code for, or that cannot
// be used now. FAILED_PRECONDITION if there is no backend for GPUs in this
// build.
absl::StatusOr<GpuDevice> FindGpu(int ordinal);

}  // namespace paceline

#endif  // PACELINE_GPU_GPU_DEVICE_H_
