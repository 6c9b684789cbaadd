#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_batch_norm.cuh"

namespace paceline {
namespace {

// Of one tile: sum of dy, and of dy * (x - mean).
__global__ void TileKernel(BatchNormShape shape, const float* x,
                           const float* dy, const float* mean, float* tile_sum,
                           float* tile_product) {
  __shared__ float scratch[kThreads];
  const int64_t begin = blockIdx.x * kTile;
  const int64_t end = min(begin + kTile, shape.inner);
  const int64_t base = blockIdx.y * shape.inner;
  const float m = mean[blockIdx.y];
  float sum = 0;
  float product = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const float gradient = dy[base + i];
    sum += gradient;
    product += gradient * (x[base + i] - m);
  }
  sum = BlockSum(sum, scratch);
  product = BlockSum(product, scratch);
  if (threadIdx.x == 0) {
    const int64_t tile = int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
    tile_sum[tile] = sum;
    tile_product[tile] = product;
  }
}

// A block for each channel: the gradients of its scale and shift, and the sums
// that dx needs in place of the first tile's.
__global__ void ChannelKernel(BatchNormShape shape, int64_t tiles,
                              const float* variance, float beta,
                              float* tile_sum, float* tile_product,
                              float* dscale, float* dshift) {
  __shared__ float scratch[kThreads];
  const int64_t channel = blockIdx.x;
  float sum = 0;
  float product = 0;
  for (int64_t tile = threadIdx.x; tile < tiles; tile += kThreads) {
    sum += tile_sum[channel * tiles + tile];
    product += tile_product[channel * tiles + tile];
  }
  sum = BlockSum(sum, scratch);
  product = BlockSum(product, scratch) *
            InverseDeviation(variance[channel], shape.epsilon);
  if (threadIdx.x == 0) {
    dshift[channel] = Accumulate(beta, dshift[channel], sum);
    dscale[channel] = Accumulate(beta, dscale[channel], product);
    tile_sum[channel * tiles] = sum;
    tile_product[channel * tiles] = product;
  }
}

// dx = scale * inverse * (dy - mean(dy) - xhat * mean(dy * xhat)), Ioffe and
// Szegedy 2015, section 3.
__global__ void InputKernel(BatchNormShape shape, int64_t tiles, const float* x,
                            const float* scale, const float* mean,
                            const float* variance, const float* dy,
                            const float* tile_sum, const float* tile_product,
                            float* dx) {
  const int64_t channel = blockIdx.y;
  const float share = 1.0f / static_cast<float>(shape.inner);
  const float inverse = InverseDeviation(variance[channel], shape.epsilon);
  const float factor = scale[channel] * inverse;
  const float slope = -factor * share * tile_product[channel * tiles] * inverse;
  const float offset =
      -factor * share * tile_sum[channel * tiles] - slope * mean[channel];
  const int64_t base = channel * shape.inner;
  const int64_t begin = blockIdx.x * kTile;
  const int64_t end = min(begin + kTile, shape.inner);
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    dx[base + i] = factor * dy[base + i] + (slope * x[base + i] + offset);
  }
}

}  // namespace

void CudaBackend::BatchNormBackward(const BatchNormShape& shape, DeviceView x,
                                    DeviceView scale, DeviceView mean,
                                    DeviceView variance, DeviceView dy,
                                    float beta, DeviceSpan dscale,
                                    DeviceSpan dshift, DeviceSpan dx) {
  CHECK(x.size == shape.size() && dy.size == x.size && dx.size == x.size);
  CHECK(scale.size == shape.channels && mean.size == shape.channels);
  CHECK(variance.size == shape.channels);
  CHECK(dscale.size == shape.channels && dshift.size == shape.channels);
  if (shape.size() == 0) return;
  const int64_t tiles = TilesOf(shape);
  float* const scratch = Scratch(2 * tiles * shape.channels);
  if (scratch == nullptr) return;
  float* const products = scratch + tiles * shape.channels;
  TileKernel<<<TileGrid(shape), kThreads, 0, Stream()>>>(
      shape, x.data, dy.data, mean.data, scratch, products);
  ChannelKernel<<<static_cast<unsigned>(shape.channels), kThreads, 0,
                  Stream()>>>(shape, tiles, variance.data, beta, scratch,
                              products, dscale.data, dshift.data);
  InputKernel<<<TileGrid(shape), kThreads, 0, Stream()>>>(
      shape, tiles, x.data, scale.data, mean.data, variance.data, dy.data,
      scratch, products, dx.data);
  Launched("batch norm backward");
}

}  // namespace paceline
