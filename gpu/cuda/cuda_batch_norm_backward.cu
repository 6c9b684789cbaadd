#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_batch_norm.cuh"

namespace paceline {
namespace {

// What a backward pass reads. Its gradient of channel c, element i, is dy where
// the activation let y pass: that is computed again, which costs less than
// reading y.
struct Input {
  const float* x;
  const float* scale;
  const float* shift;
  const float* mean;
  const float* variance;
  const float* dy;
};

__device__ Affine ForwardOf(const BatchNormShape& shape, const Input& input,
                            int64_t channel) {
  return FoldedAffine(input.scale[channel], input.shift[channel],
                      input.mean[channel], input.variance[channel],
                      shape.epsilon);
}

// Sums one tile: the gradient, and the gradient times (x - mean).
__global__ void BatchNormBackwardTileKernel(BatchNormShape shape, Input input,
                                            float* tile_sum,
                                            float* tile_product) {
  __shared__ float scratch[kThreads];
  const int64_t begin = blockIdx.x * kTile;
  const int64_t end = min(begin + kTile, shape.inner);
  const int64_t base = blockIdx.y * shape.inner;
  const Affine forward = ForwardOf(shape, input, blockIdx.y);
  const float mean = input.mean[blockIdx.y];
  float sum = 0;
  float product = 0;
  for (int64_t i = base + begin + threadIdx.x; i < base + end; i += kThreads) {
    const float x = input.x[i];
    const float gradient = Passed(shape.activation, forward(x), input.dy[i]);
    sum += gradient;
    product += gradient * (x - mean);
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
__global__ void BatchNormBackwardChannelKernel(
    BatchNormShape shape, int64_t tiles, const float* variance, float beta,
    float* tile_sum, float* tile_product, float* dscale, float* dshift) {
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

// dx = scale * inverse * (g - mean(g) - xhat * mean(g * xhat)) of the gradient
// g, Ioffe and Szegedy 2015, section 3.
__global__ void InputKernel(BatchNormShape shape, int64_t tiles, Input input,
                            const float* tile_sum, const float* tile_product,
                            float* dx) {
  const int64_t channel = blockIdx.y;
  const Affine forward = ForwardOf(shape, input, channel);
  const float share = 1.0f / static_cast<float>(shape.inner);
  const float inverse =
      InverseDeviation(input.variance[channel], shape.epsilon);
  const float factor = forward.factor;
  const float slope = -factor * share * tile_product[channel * tiles] * inverse;
  const float offset =
      -factor * share * tile_sum[channel * tiles] - slope * input.mean[channel];
  const int64_t base = channel * shape.inner;
  const int64_t begin = blockIdx.x * kTile;
  const int64_t end = min(begin + kTile, shape.inner);
  for (int64_t i = base + begin + threadIdx.x; i < base + end; i += kThreads) {
    const float x = input.x[i];
    const float gradient = Passed(shape.activation, forward(x), input.dy[i]);
    dx[i] = factor * gradient + (slope * x + offset);
  }
}

}  // namespace

void CudaBackend::BatchNormBackward(const BatchNormShape& shape, DeviceView x,
                                    DeviceView scale, DeviceView shift,
                                    DeviceView mean, DeviceView variance,
                                    DeviceView dy, float beta,
                                    DeviceSpan dscale, DeviceSpan dshift,
                                    DeviceSpan dx) {
  CHECK(x.size == shape.size() && dy.size == x.size && dx.size == x.size);
  CHECK(scale.size == shape.channels && shift.size == shape.channels);
  CHECK(mean.size == shape.channels && variance.size == shape.channels);
  CHECK(dscale.size == shape.channels && dshift.size == shape.channels);
  if (shape.size() == 0) return;
  const int64_t tiles = TilesOf(shape);
  float* const scratch = Scratch(2 * tiles * shape.channels);
  if (scratch == nullptr) return;
  float* const products = scratch + tiles * shape.channels;
  const Input input{x.data,    scale.data,    shift.data,
                    mean.data, variance.data, dy.data};
  BatchNormBackwardTileKernel<<<TileGrid(shape), kThreads, 0, Stream()>>>(
      shape, input, scratch, products);
  BatchNormBackwardChannelKernel<<<static_cast<unsigned>(shape.channels),
                                   kThreads, 0, Stream()>>>(
      shape, tiles, variance.data, beta, scratch, products, dscale.data,
      dshift.data);
  InputKernel<<<TileGrid(shape), kThreads, 0, Stream()>>>(
      shape, tiles, input, scratch, products, dx.data);
  Launched("batch norm backward");
}

}  // namespace paceline
