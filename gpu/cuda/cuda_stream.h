#ifndef PACELINE_GPU_CUDA_CUDA_STREAM_H_
#define PACELINE_GPU_CUDA_CUDA_STREAM_H_

#include <cuda_runtime.h>

#include <utility>

#include "absl/status/statusor.h"
#include "common/status.h"
#include "gpu/cuda/cuda_status.h"

namespace paceline {

// A stream of the current device. Move-only; the destructor does not wait.
class CudaStream {
 public:
  static absl::StatusOr<CudaStream> Create() {
    cudaStream_t stream = nullptr;
    // Does not wait for the legacy stream, nor that for it.
    PACELINE_RETURN_IF_ERROR(
        CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags"));
    return CudaStream(stream);
  }
  CudaStream(CudaStream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~CudaStream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  cudaStream_t get() const { return stream_; }

 private:
  explicit CudaStream(cudaStream_t stream) : stream_(stream) {}

  cudaStream_t stream_;
};

// A point in a stream that another stream or the host waits for. Move-only.
class CudaEvent {
 public:
  static absl::StatusOr<CudaEvent> Create() {
    cudaEvent_t event = nullptr;
    // Who waits on the host leaves its core to others, as the network's
    // threads.
    PACELINE_RETURN_IF_ERROR(
        CudaStatus(cudaEventCreateWithFlags(
                       &event, cudaEventDisableTiming | cudaEventBlockingSync),
                   "cudaEventCreateWithFlags"));
    return CudaEvent(event);
  }
  CudaEvent(CudaEvent&& other) noexcept
      : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~CudaEvent() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  cudaEvent_t get() const { return event_; }

 private:
  explicit CudaEvent(cudaEvent_t event) : event_(event) {}

  cudaEvent_t event_;
};

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_STREAM_H_
