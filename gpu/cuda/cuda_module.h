#ifndef PACELINE_GPU_CUDA_CUDA_MODULE_H_
#define PACELINE_GPU_CUDA_CUDA_MODULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "gpu/backend.h"
#include "gpu/gpu_device.h"

// What the module libpaceline_cuda.so has for those who load it. It is loaded,
// and not linked: cuBLAS would take 106 KiB of every thread's stack for its
// thread-local data, also where there is no GPU, and be needed to start.

extern "C" {

// MakeBackend("cuda", options) for options in range.
void PacelineMakeCudaBackend(
    const paceline::BackendOptions& options,
    absl::StatusOr<std::unique_ptr<paceline::Backend>>& backend);

// FindGpu(ordinal).
void PacelineFindGpu(int ordinal, absl::StatusOr<paceline::GpuDevice>& device);
}

#endif  // PACELINE_GPU_CUDA_CUDA_MODULE_H_
