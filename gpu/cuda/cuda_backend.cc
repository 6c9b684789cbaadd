#include "gpu/cuda/cuda_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/cuda/cuda_status.h"

// What a backend is made of: its device, memory, stream, and errors.

namespace paceline {
namespace {

cublasComputeType_t ComputeTypeOf(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      break;
    case Precision::kTf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::kBf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
  }
  // Not PEDANTIC: which kernel is chosen may change the order of additions.
  return CUBLAS_COMPUTE_32F;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaBackend>> CudaBackend::Create(
    const BackendOptions& options) {
  PACELINE_ASSIGN_OR_RETURN(GpuDevice device, FindCudaDevice(options.device));
  PACELINE_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Create());
  std::unique_ptr<CudaBackend> backend(new CudaBackend(
      std::move(device), ComputeTypeOf(options.precision), std::move(stream)));
  PACELINE_ASSIGN_OR_RETURN(backend->memory_,
                            CudaMemory::Create(backend->device_.ordinal,
                                               backend->device_.memory_bytes,
                                               options.memory_fraction));
  PACELINE_RETURN_IF_ERROR(
      CublasStatus(cublasCreate(&backend->cublas_), "cublasCreate"));
  PACELINE_RETURN_IF_ERROR(
      CublasStatus(cublasSetStream(backend->cublas_, backend->stream_.get()),
                   "cublasSetStream"));
  return backend;
}

CudaBackend::CudaBackend(GpuDevice device, cublasComputeType_t compute,
                         CudaStream stream)
    : device_(std::move(device)),
      compute_(compute),
      stream_(std::move(stream)) {}

CudaBackend::~CudaBackend() {
  Stream();
  scratch_.reset();
  labels_.reset();
  cudaStreamSynchronize(stream_.get());
  if (cublas_ != nullptr) cublasDestroy(cublas_);
}

absl::string_view CudaBackend::name() const { return "cuda"; }

bool CudaBackend::host_visible() const { return false; }

absl::StatusOr<std::unique_ptr<Buffer>> CudaBackend::Allocate(int64_t size) {
  return memory_->Allocate(size, Stream());
}

absl::StatusOr<std::unique_ptr<Buffer>> CudaBackend::AllocateHost(
    int64_t size) {
  return AllocatePinned(size);
}

void CudaBackend::Upload(absl::Span<const float> from, DeviceSpan to) {
  CHECK(static_cast<int64_t>(from.size()) == to.size);
  Note(CudaStatus(
      cudaMemcpyAsync(to.data, from.data(), from.size() * sizeof(float),
                      cudaMemcpyHostToDevice, Stream()),
      "cudaMemcpyAsync to the device"));
}

void CudaBackend::Download(DeviceView from, absl::Span<float> to) {
  CHECK(static_cast<int64_t>(to.size()) == from.size);
  Note(CudaStatus(
      cudaMemcpyAsync(to.data(), from.data, to.size() * sizeof(float),
                      cudaMemcpyDeviceToHost, Stream()),
      "cudaMemcpyAsync to the host"));
}

void CudaBackend::Copy(DeviceView x, DeviceSpan y) {
  CHECK(x.size == y.size);
  Note(CudaStatus(cudaMemcpyAsync(y.data, x.data,
                                  static_cast<size_t>(x.size) * sizeof(float),
                                  cudaMemcpyDeviceToDevice, Stream()),
                  "cudaMemcpyAsync on the device"));
}

absl::Status CudaBackend::Synchronize() {
  Note(CudaStatus(cudaStreamSynchronize(Stream()), "cudaStreamSynchronize"));
  return std::exchange(status_, absl::OkStatus());
}

cudaStream_t CudaBackend::Stream() {
  // Every thread has a current device of its own, the first one at first.
  thread_local int current = -1;
  if (current != device_.ordinal) {
    Note(CudaStatus(cudaSetDevice(device_.ordinal), "cudaSetDevice"));
    current = device_.ordinal;
  }
  return stream_.get();
}

void CudaBackend::Note(const absl::Status& status) { status_.Update(status); }

void CudaBackend::Launched(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) Note(CudaStatus(error, kernel));
}

float* CudaBackend::Scratch(int64_t floats) {
  if (scratch_ == nullptr || scratch_->span().size < floats) {
    scratch_.reset();  // First: both might not fit.
    absl::StatusOr<std::unique_ptr<Buffer>> scratch = Allocate(floats);
    Note(scratch.status());
    if (!scratch.ok()) return nullptr;
    scratch_ = *std::move(scratch);
  }
  return scratch_->span().data;
}

}  // namespace paceline
