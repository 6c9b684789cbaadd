#include "gpu/cuda/cuda_memory.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "gpu/cuda/cuda_status.h"

namespace paceline {
namespace {

// Larger sizes would overflow when counted in bytes.
constexpr int64_t kSizeMax = std::numeric_limits<int64_t>::max() / 8;

std::string MiB(uint64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); }

class PinnedBuffer final : public Buffer {
 public:
  PinnedBuffer(float* data, int64_t size) : data_(data), size_(size) {}
  ~PinnedBuffer() override { cudaFreeHost(data_); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  DeviceSpan span() const override { return {data_, size_}; }

 private:
  float* const data_;
  const int64_t size_;
};

}  // namespace

class CudaMemory::Piece final : public Buffer {
 public:
  Piece(CudaMemory* memory, float* data, int64_t size, uint64_t bytes,
        cudaStream_t stream)
      : memory_(*memory),
        data_(data),
        size_(size),
        bytes_(bytes),
        stream_(stream) {}
  ~Piece() override {
    // After everything that was queued before.
    cudaFreeAsync(data_, stream_);
    memory_.used_ -= bytes_;
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  DeviceSpan span() const override { return {data_, size_}; }

 private:
  CudaMemory& memory_;
  float* const data_;
  const int64_t size_;
  const uint64_t bytes_;
  const cudaStream_t stream_;
};

absl::StatusOr<std::unique_ptr<CudaMemory>> CudaMemory::Create(int device,
                                                               uint64_t total,
                                                               double share) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t pool = nullptr;
  PACELINE_RETURN_IF_ERROR(
      CudaStatus(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate"));
  const auto limit = static_cast<uint64_t>(static_cast<double>(total) * share);
  std::unique_ptr<CudaMemory> memory(new CudaMemory(pool, limit));
  uint64_t keep = std::numeric_limits<uint64_t>::max();
  PACELINE_RETURN_IF_ERROR(CudaStatus(
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
      "cudaMemPoolSetAttribute"));
  return memory;
}

CudaMemory::~CudaMemory() {
  CHECK(used_ == 0);
  cudaMemPoolDestroy(pool_);
}

absl::StatusOr<std::unique_ptr<Buffer>> CudaMemory::Allocate(
    int64_t size, cudaStream_t stream) {
  CHECK(size >= 0);
  if (size > kSizeMax) return Exhausted(std::numeric_limits<uint64_t>::max());
  // A buffer of nothing is a buffer too.
  const uint64_t bytes =
      std::max<uint64_t>(static_cast<uint64_t>(size) * sizeof(float), 64);
  if (bytes > limit_ - used_) return Exhausted(bytes);
  void* data = nullptr;
  const cudaError_t error =
      cudaMallocFromPoolAsync(&data, bytes, pool_, stream);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // It has been told; the next call is another's.
    return Exhausted(bytes);
  }
  PACELINE_RETURN_IF_ERROR(CudaStatus(error, "cudaMallocFromPoolAsync"));
  used_ += bytes;
  auto piece = std::make_unique<Piece>(this, static_cast<float*>(data), size,
                                       bytes, stream);
  PACELINE_RETURN_IF_ERROR(
      CudaStatus(cudaMemsetAsync(data, 0, bytes, stream), "cudaMemsetAsync"));
  return piece;
}

absl::Status CudaMemory::Exhausted(uint64_t bytes) const {
  size_t free = 0;
  size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
  return absl::ResourceExhaustedError(absl::StrCat(
      "no memory for ", MiB(bytes), ": this worker has ", MiB(used_), " of ",
      MiB(limit_), " on its GPU, which has ", MiB(free), " of ", MiB(total),
      " free; use a smaller micro-batch, or raise --gpu-memory-fraction"));
}

absl::StatusOr<std::unique_ptr<Buffer>> AllocatePinned(int64_t size) {
  CHECK(size >= 0);
  if (size > kSizeMax) {
    return absl::ResourceExhaustedError("no memory for so much");
  }
  const size_t bytes = std::max<size_t>(size * sizeof(float), 64);
  void* data = nullptr;
  // A worker's devices all read it.
  const cudaError_t error = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return absl::ResourceExhaustedError(
        absl::StrCat("the host has no memory to pin for ", MiB(bytes)));
  }
  PACELINE_RETURN_IF_ERROR(CudaStatus(error, "cudaHostAlloc"));
  std::memset(data, 0, bytes);
  return std::make_unique<PinnedBuffer>(static_cast<float*>(data), size);
}

}  // namespace paceline
