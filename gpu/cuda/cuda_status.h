#ifndef PACELINE_GPU_CUDA_CUDA_STATUS_H_
#define PACELINE_GPU_CUDA_CUDA_STATUS_H_

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paceline {

// OK, or what `call` answered, by its name: RESOURCE_EXHAUSTED for memory,
// UNAVAILABLE where this machine has no device or driver that can be used,
// INTERNAL for everything else.
absl::Status CudaStatus(cudaError_t error, absl::string_view call);
absl::Status CublasStatus(cublasStatus_t status, absl::string_view call);

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_STATUS_H_
