#include "gpu/cuda/cuda_module.h"

#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_device.h"

void PacelineMakeCudaBackend(
    const paceline::BackendOptions& options,
    absl::StatusOr<std::unique_ptr<paceline::Backend>>& backend) {
  backend = paceline::CudaBackend::Create(options);
}

void PacelineFindGpu(int ordinal, absl::StatusOr<paceline::GpuDevice>& device) {
  device = paceline::FindCudaDevice(ordinal);
}
