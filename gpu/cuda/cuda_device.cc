#include "gpu/cuda/cuda_device.h"

#include <cuda_runtime.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "gpu/cuda/cuda_probe.h"
#include "gpu/cuda/cuda_status.h"

namespace paceline {
namespace {

std::string Uuid(const cudaUUID_t& uuid) {
  const std::string hex =
      absl::BytesToHexString(absl::string_view(uuid.bytes, sizeof(uuid.bytes)));
  return absl::StrCat("GPU-", hex.substr(0, 8), "-", hex.substr(8, 4), "-",
                      hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                      hex.substr(20));
}

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// Why there is no driver to ask.
std::string WhyNoDriver() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) cudaGetLastError();
  if (driver == 0) return "this machine has no NVIDIA driver";
  return absl::StrCat("the NVIDIA driver is one for CUDA ", VersionText(driver),
                      ", and this build needs ", VersionText(CUDART_VERSION));
}

}  // namespace

absl::StatusOr<GpuDevice> FindCudaDevice(int ordinal) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  // What cannot be used once stays reported, to whatever is called next.
  if (error != cudaSuccess) cudaGetLastError();
  if (error == cudaErrorInsufficientDriver) {
    return absl::UnavailableError(WhyNoDriver());
  }
  if (error != cudaSuccess && error != cudaErrorNoDevice) {
    return absl::UnavailableError(
        CudaStatus(error, "cudaGetDeviceCount").message());
  }
  if (ordinal >= count) {
    return absl::UnavailableError(
        count == 0 ? std::string("this machine has no GPU that CUDA can use")
                   : absl::StrCat("there is no GPU ", ordinal,
                                  ": this machine has ", count));
  }
  cudaDeviceProp properties;
  PACELINE_RETURN_IF_ERROR(
      CudaStatus(cudaGetDeviceProperties(&properties, ordinal),
                 "cudaGetDeviceProperties"));
  GpuDevice device{.ordinal = ordinal,
                   .name = properties.name,
                   .uuid = Uuid(properties.uuid),
                   .compute_capability =
                       absl::StrCat(properties.major, ".", properties.minor),
                   .memory_bytes = properties.totalGlobalMem};
  PACELINE_RETURN_IF_ERROR(UseCudaDevice(ordinal));
  const cudaError_t runs = ProbeKernel();
  if (runs == cudaSuccess) return device;
  cudaGetLastError();
  return absl::UnavailableError(absl::StrCat(
      "GPU ", ordinal, ", ", device.name, " (compute capability ",
      device.compute_capability,
      "), cannot be used: ", CudaStatus(runs, "a first kernel").message()));
}

absl::Status UseCudaDevice(int ordinal) {
  // Every thread has a current device of its own, the first one at first.
  thread_local int current = -1;
  if (current == ordinal) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(ordinal), "cudaSetDevice"));
  current = ordinal;
  return absl::OkStatus();
}

}  // namespace paceline
