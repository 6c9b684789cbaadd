#ifndef PACELINE_GPU_CUDA_CUDA_DEVICE_H_
#define PACELINE_GPU_CUDA_CUDA_DEVICE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu/gpu_device.h"

namespace paceline {

// FindGpu() within the module. The device is the calling thread's current one
// afterwards.
absl::StatusOr<GpuDevice> FindCudaDevice(int ordinal);

// Makes a device the calling thread's current one, if it is not. All of the
// module does it by this.
absl::Status UseCudaDevice(int ordinal);

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_DEVICE_H_
