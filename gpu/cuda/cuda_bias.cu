#include "common/check.h"
#include "gpu/cuda/cuda_activate.cuh"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

__global__ void AddKernel(BiasShape shape, const float* bias, float* y) {
  const int64_t size = shape.size();
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    y[i] = Activate(shape.activation,
                    y[i] + bias[i / shape.inner % shape.channels]);
  }
}

// A block for each channel.
__global__ void ReduceKernel(BiasShape shape, const float* dy, float beta,
                             float* dbias) {
  __shared__ float scratch[kThreads];
  const int64_t channel = blockIdx.x;
  const int64_t count = shape.outer * shape.inner;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    const int64_t outer = i / shape.inner;
    sum +=
        dy[(outer * shape.channels + channel) * shape.inner + i % shape.inner];
  }
  sum = BlockSum(sum, scratch);
  if (threadIdx.x == 0) {
    dbias[channel] = Accumulate(beta, dbias[channel], sum);
  }
}

}  // namespace

void CudaBackend::AddBias(const BiasShape& shape, DeviceView bias,
                          DeviceSpan y) {
  CHECK(bias.size == shape.channels && y.size == shape.size());
  AddKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(shape, bias.data,
                                                          y.data);
  Launched("add bias");
}

void CudaBackend::ReduceBias(const BiasShape& shape, DeviceView dy, float beta,
                             DeviceSpan dbias) {
  CHECK(dbias.size == shape.channels && dy.size == shape.size());
  if (shape.channels == 0) return;
  ReduceKernel<<<static_cast<unsigned>(shape.channels), kThreads, 0,
                 Stream()>>>(shape, dy.data, beta, dbias.data);
  Launched("reduce bias");
}

}  // namespace paceline
