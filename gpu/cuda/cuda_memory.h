#ifndef PACELINE_GPU_CUDA_CUDA_MEMORY_H_
#define PACELINE_GPU_CUDA_CUDA_MEMORY_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu/backend.h"

namespace paceline {

// The device memory of one backend: at most a share of the card, so that
// several workers fit on it. What is given back is kept for the next buffer of
// that backend until the pool ends; jobs come and go with the same sizes.
// Thread-compatible; buffers must not outlive it.
class CudaMemory {
 public:
  // Memory of `device`, which has `total` bytes: `share` of it, in (0, 1].
  static absl::StatusOr<std::unique_ptr<CudaMemory>> Create(int device,
                                                            uint64_t total,
                                                            double share);
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  // `size` zeros, in the order of `stream`. RESOURCE_EXHAUSTED with what was
  // asked for, what this worker may have and has, and what the card has left.
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t size,
                                                   cudaStream_t stream);

 private:
  class Piece;

  CudaMemory(cudaMemPool_t pool, uint64_t limit) : pool_(pool), limit_(limit) {}
  absl::Status Exhausted(uint64_t bytes) const;

  const cudaMemPool_t pool_;
  const uint64_t limit_;
  uint64_t used_ = 0;
};

// Host memory that the device reads and writes by itself, of `size` zeros.
// RESOURCE_EXHAUSTED.
absl::StatusOr<std::unique_ptr<Buffer>> AllocatePinned(int64_t size);

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_MEMORY_H_
