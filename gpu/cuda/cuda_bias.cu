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

// The same where whole blocks share a bias: images, one behind the other in the
// grid's second dimension.
__global__ void AddToRowsKernel(BiasShape shape, const float* bias, float* y) {
  const int64_t rows = shape.outer * shape.channels;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const float added = bias[row % shape.channels];
    float* const at = y + row * shape.inner;
    for (int64_t i = FirstElement(); i < shape.inner; i += ElementStride()) {
      at[i] = Activate(shape.activation, at[i] + added);
    }
  }
}

// A block for each channel.
__global__ void ReduceKernel(BiasShape shape, const float* dy, float beta,
                             float* dbias) {
  __shared__ float scratch[kThreads];
  const int64_t channel = blockIdx.x;
  float sum = 0;
  if (shape.outer == 1) {
    const float* const row = dy + channel * shape.inner;
    for (int64_t i = threadIdx.x; i < shape.inner; i += kThreads) sum += row[i];
  } else {
    const int64_t count = shape.outer * shape.inner;
    for (int64_t i = threadIdx.x; i < count; i += kThreads) {
      const int64_t outer = i / shape.inner;
      sum += dy[(outer * shape.channels + channel) * shape.inner +
                i % shape.inner];
    }
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
  if (shape.inner < kThreads) {
    AddKernel<<<BlocksFor(y.size), kThreads, 0, Stream()>>>(shape, bias.data,
                                                            y.data);
  } else {
    AddToRowsKernel<<<GridOfRows(shape.outer * shape.channels, shape.inner),
                      kThreads, 0, Stream()>>>(shape, bias.data, y.data);
  }
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
