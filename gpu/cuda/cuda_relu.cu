#include "common/check.h"
#include "gpu/cuda/cuda_activate.cuh"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

__global__ void ReluForwardKernel(int64_t size, const float* x, float* y) {
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    y[i] = Activate(Activation::kRelu, x[i]);
  }
}

__global__ void ReluBackwardKernel(int64_t size, const float* y,
                                   const float* dy, float* dx) {
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    dx[i] = Passed(Activation::kRelu, y[i], dy[i]);
  }
}

}  // namespace

void CudaBackend::ReluForward(DeviceView x, DeviceSpan y) {
  CHECK(x.size == y.size);
  ReluForwardKernel<<<BlocksFor(x.size), kThreads, 0, Stream()>>>(
      x.size, x.data, y.data);
  Launched("relu");
}

void CudaBackend::ReluBackward(DeviceView y, DeviceView dy, DeviceSpan dx) {
  CHECK(y.size == dy.size && y.size == dx.size);
  ReluBackwardKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(
      y.size, y.data, dy.data, dx.data);
  Launched("relu backward");
}

}  // namespace paceline
