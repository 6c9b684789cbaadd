#include "gpu/cuda/cuda_status.h"

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

absl::StatusCode CodeOf(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::StatusCode::kResourceExhausted;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInitializationError:
    case cudaErrorStubLibrary:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status CudaStatus(cudaError_t error, absl::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  // It has been told; the next call that looks is another's. What has broken
  // the context comes back by itself.
  cudaGetLastError();
  return absl::Status(CodeOf(error),
                      absl::StrCat(call, ": ", cudaGetErrorString(error), " (",
                                   cudaGetErrorName(error), ")"));
}

absl::Status CublasStatus(cublasStatus_t status, absl::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  return absl::Status(status == CUBLAS_STATUS_ALLOC_FAILED
                          ? absl::StatusCode::kResourceExhausted
                          : absl::StatusCode::kInternal,
                      absl::StrCat(call, ": ", cublasGetStatusString(status)));
}

}  // namespace paceline
