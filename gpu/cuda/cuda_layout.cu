#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

__global__ void SwapKernel(int64_t first, int64_t second, int64_t inner,
                           const float* x, float* y) {
  const int64_t size = first * second * inner;
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    const int64_t a = i / inner % first;
    const int64_t b = i / (inner * first);
    y[i] = x[(a * second + b) * inner + i % inner];
  }
}

}  // namespace

void CudaBackend::SwapLeading(int64_t first, int64_t second, int64_t inner,
                              DeviceView x, DeviceSpan y) {
  CHECK(x.size == first * second * inner && y.size == x.size);
  SwapKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(first, second, inner,
                                                           x.data, y.data);
  Launched("swap leading dimensions");
}

}  // namespace paceline
