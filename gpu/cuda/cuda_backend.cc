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

constexpr Lane kLanes[] = {Lane::kCompute, Lane::kUpload, Lane::kDownload};

// 32 MiB, what cuBLAS's manual recommends for the largest cards.
constexpr int64_t kWorkspaceFloats = int64_t{8} << 20;

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
  PACELINE_ASSIGN_OR_RETURN(CudaStream compute, CudaStream::Create());
  PACELINE_ASSIGN_OR_RETURN(CudaStream upload, CudaStream::Create());
  PACELINE_ASSIGN_OR_RETURN(CudaStream download, CudaStream::Create());
  std::unique_ptr<CudaBackend> backend(new CudaBackend(
      std::move(device), ComputeTypeOf(options.precision),
      Streams{std::move(compute), std::move(upload), std::move(download)}));
  PACELINE_RETURN_IF_ERROR(backend->Begin(options.memory_fraction));
  return backend;
}

CudaBackend::CudaBackend(GpuDevice device, cublasComputeType_t compute,
                         Streams streams)
    : device_(std::move(device)),
      compute_(compute),
      streams_(std::move(streams)) {}

absl::Status CudaBackend::Begin(double memory_fraction) {
  PACELINE_ASSIGN_OR_RETURN(
      memory_, CudaMemory::Create(device_.ordinal, device_.memory_bytes,
                                  memory_fraction));
  PACELINE_RETURN_IF_ERROR(
      CublasStatus(cublasCreate(&cublas_), "cublasCreate"));
  PACELINE_RETURN_IF_ERROR(
      CublasStatus(cublasSetStream(cublas_, Stream()), "cublasSetStream"));
  // After the stream, which would put it back.
  PACELINE_ASSIGN_OR_RETURN(workspace_, Allocate(kWorkspaceFloats));
  return CublasStatus(
      cublasSetWorkspace(cublas_, workspace_->span().data,
                         static_cast<size_t>(kWorkspaceFloats) * sizeof(float)),
      "cublasSetWorkspace");
}

CudaBackend::~CudaBackend() {
  for (const Lane lane : kLanes) cudaStreamSynchronize(Stream(lane));
  if (cublas_ != nullptr) cublasDestroy(cublas_);
  scratch_.reset();
  workspace_.reset();
}

absl::string_view CudaBackend::name() const { return "cuda"; }

bool CudaBackend::host_visible() const { return false; }

absl::StatusOr<std::unique_ptr<Buffer>> CudaBackend::Allocate(int64_t size) {
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer,
                            memory_->Allocate(size, Stream()));
  // It is zero in the order of one lane; others may be given it at once.
  PACELINE_RETURN_IF_ERROR(
      CudaStatus(cudaStreamSynchronize(Stream()), "cudaStreamSynchronize"));
  return buffer;
}

absl::StatusOr<std::unique_ptr<Buffer>> CudaBackend::AllocateHost(
    int64_t size) {
  return AllocatePinned(size);
}

void CudaBackend::Upload(Lane lane, absl::Span<const float> from,
                         DeviceSpan to) {
  CHECK(static_cast<int64_t>(from.size()) == to.size);
  Note(CudaStatus(
      cudaMemcpyAsync(to.data, from.data(), from.size() * sizeof(float),
                      cudaMemcpyHostToDevice, Stream(lane)),
      "cudaMemcpyAsync to the device"));
}

void CudaBackend::Download(Lane lane, DeviceView from, absl::Span<float> to) {
  CHECK(static_cast<int64_t>(to.size()) == from.size);
  Note(CudaStatus(
      cudaMemcpyAsync(to.data(), from.data, to.size() * sizeof(float),
                      cudaMemcpyDeviceToHost, Stream(lane)),
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
  for (const Lane lane : kLanes) {
    Note(CudaStatus(cudaStreamSynchronize(Stream(lane)),
                    "cudaStreamSynchronize"));
  }
  return std::exchange(status_, absl::OkStatus());
}

cudaStream_t CudaBackend::Stream(Lane lane) {
  Note(UseCudaDevice(device_.ordinal));
  return streams_[static_cast<size_t>(lane)].get();
}

void CudaBackend::Note(const absl::Status& status) { status_.Update(status); }

void CudaBackend::Launched(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) Note(CudaStatus(error, kernel));
}

float* CudaBackend::Scratch(int64_t floats) {
  if (scratch_ == nullptr || scratch_->span().size < floats) {
    scratch_.reset();  // First: both might not fit.
    ++scratch_moves_;
    absl::StatusOr<std::unique_ptr<Buffer>> scratch = Allocate(floats);
    Note(scratch.status());
    if (!scratch.ok()) return nullptr;
    scratch_ = *std::move(scratch);
  }
  return scratch_->span().data;
}

}  // namespace paceline
