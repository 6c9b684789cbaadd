#ifndef PACELINE_GPU_CUDA_CUDA_BATCH_NORM_CUH_
#define PACELINE_GPU_CUDA_CUDA_BATCH_NORM_CUH_

#include <cstdint>

#include "gpu/cuda/cuda_activate.cuh"
#include "gpu/cuda/cuda_launch.cuh"
#include "gpu/shapes.h"

// A channel is reduced in two steps: its tiles, each by a block, so that a few
// channels keep the whole card busy; then the tiles' results, by a block for
// each channel.

namespace paceline {

constexpr int kTilePerThread = 16;
constexpr int64_t kTile = int64_t{kThreads} * kTilePerThread;

inline int64_t TilesOf(const BatchNormShape& shape) {
  return (shape.inner + kTile - 1) / kTile;
}

inline dim3 TileGrid(const BatchNormShape& shape) {
  return dim3(static_cast<unsigned>(TilesOf(shape)),
              static_cast<unsigned>(shape.channels));
}

__device__ inline float InverseDeviation(float variance, float epsilon) {
  return 1.0f / sqrtf(variance + epsilon);
}

// factor * x + offset: what normalizes and what scales, folded. Fused
// explicitly, so that every kernel gets the same bits and sees the same signs.
struct Affine {
  float factor;
  float offset;

  __device__ float operator()(float x) const {
    return __fmaf_rn(factor, x, offset);
  }
};

__device__ inline Affine FoldedAffine(float scale, float shift, float mean,
                                      float variance, float epsilon) {
  const float factor = scale * InverseDeviation(variance, epsilon);
  return {factor, __fmaf_rn(-factor, mean, shift)};
}

// y = activation(affine(x)), for the block's tile of its channel.
__device__ inline void ApplyToTile(const BatchNormShape& shape,
                                   const Affine& affine, const float* x,
                                   float* y) {
  const int64_t base = blockIdx.y * shape.inner;
  const int64_t begin = blockIdx.x * kTile;
  const int64_t end = min(begin + kTile, shape.inner);
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    y[base + i] = Activate(shape.activation, affine(x[base + i]));
  }
}

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_BATCH_NORM_CUH_
