#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_batch_norm.cuh"

namespace paceline {
namespace {

// Mean and sum of squared distances from it of so many values; pairs of them
// combine exactly (Chan, Golub and LeVeque, "Updating Formulae and a Pairwise
// Algorithm for Computing Sample Variances", 1979).
struct Moments {
  float count = 0;
  float mean = 0;
  float squares = 0;
};

__device__ Moments Combine(const Moments& a, const Moments& b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const float count = a.count + b.count;
  const float apart = b.mean - a.mean;
  const float share = b.count / count;
  return {count, a.mean + apart * share,
          a.squares + b.squares + apart * apart * a.count * share};
}

// One tile: its values stay in registers, so the second pass about the mean
// reads nothing.
__global__ void BatchNormForwardTileKernel(BatchNormShape shape, const float* x,
                                           float* tile_mean,
                                           float* tile_squares) {
  __shared__ float scratch[kThreads];
  const int64_t begin = blockIdx.x * kTile;
  const int64_t count = min(kTile, shape.inner - begin);
  const float* const in = x + blockIdx.y * shape.inner + begin;
  float values[kTilePerThread];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kTilePerThread; ++k) {
    const int64_t i = threadIdx.x + k * kThreads;
    values[k] = i < count ? in[i] : 0.0f;
    sum += values[k];
  }
  const float mean = BlockSum(sum, scratch) / static_cast<float>(count);
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kTilePerThread; ++k) {
    const float distance = values[k] - mean;
    if (threadIdx.x + k * kThreads < count) squares += distance * distance;
  }
  squares = BlockSum(squares, scratch);
  if (threadIdx.x == 0) {
    const int64_t tile = int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
    tile_mean[tile] = mean;
    tile_squares[tile] = squares;
  }
}

// A block for each channel.
__global__ void BatchNormForwardChannelKernel(BatchNormShape shape,
                                              int64_t tiles,
                                              const float* tile_mean,
                                              const float* tile_squares,
                                              float* mean, float* variance) {
  __shared__ Moments scratch[kThreads];
  const int64_t channel = blockIdx.x;
  Moments own;
  for (int64_t tile = threadIdx.x; tile < tiles; tile += kThreads) {
    const int64_t count = min(kTile, shape.inner - tile * kTile);
    own = Combine(own,
                  {static_cast<float>(count), tile_mean[channel * tiles + tile],
                   tile_squares[channel * tiles + tile]});
  }
  scratch[threadIdx.x] = own;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      scratch[threadIdx.x] =
          Combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    mean[channel] = scratch[0].mean;
    variance[channel] = scratch[0].squares / static_cast<float>(shape.inner);
  }
}

__global__ void NormalizeKernel(BatchNormShape shape, const float* x,
                                const float* scale, const float* shift,
                                const float* mean, const float* variance,
                                float* y) {
  const int64_t channel = blockIdx.y;
  ApplyToTile(shape,
              FoldedAffine(scale[channel], shift[channel], mean[channel],
                           variance[channel], shape.epsilon),
              x, y);
}

}  // namespace

void CudaBackend::BatchNormForward(const BatchNormShape& shape, DeviceView x,
                                   DeviceView scale, DeviceView shift,
                                   DeviceSpan mean, DeviceSpan variance,
                                   DeviceSpan y) {
  CHECK(x.size == shape.size() && y.size == shape.size());
  CHECK(scale.size == shape.channels && shift.size == shape.channels);
  CHECK(mean.size == shape.channels && variance.size == shape.channels);
  if (shape.size() == 0) return;
  const int64_t tiles = TilesOf(shape);
  float* const scratch = Scratch(2 * tiles * shape.channels);
  if (scratch == nullptr) return;
  float* const tile_squares = scratch + tiles * shape.channels;
  BatchNormForwardTileKernel<<<TileGrid(shape), kThreads, 0, Stream()>>>(
      shape, x.data, scratch, tile_squares);
  BatchNormForwardChannelKernel<<<static_cast<unsigned>(shape.channels),
                                  kThreads, 0, Stream()>>>(
      shape, tiles, scratch, tile_squares, mean.data, variance.data);
  NormalizeKernel<<<TileGrid(shape), kThreads, 0, Stream()>>>(
      shape, x.data, scale.data, shift.data, mean.data, variance.data, y.data);
  Launched("batch norm");
}

}  // namespace paceline
