#ifndef PACELINE_GPU_CUDA_LOADER_H_
#define PACELINE_GPU_CUDA_LOADER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "gpu/backend.h"
#include "gpu/gpu_device.h"

namespace paceline {

// The CUDA backend's module, which is loaded at the first use and stays:
// gpu/cuda/cuda_module.h says why, and what the functions do.
struct CudaModule {
  void (*make_backend)(const BackendOptions& options,
                       absl::StatusOr<std::unique_ptr<Backend>>& backend);
  void (*find_gpu)(int ordinal, absl::StatusOr<GpuDevice>& device);
};

// FAILED_PRECONDITION if this build has no such module, UNAVAILABLE if it
// cannot be loaded, with what the linker says: a library that is missing.
// Thread-safe.
absl::StatusOr<CudaModule> LoadCuda();

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_LOADER_H_
