#ifndef PACELINE_GPU_CUDA_CUDA_BATCH_NORM_CUH_
#define PACELINE_GPU_CUDA_CUDA_BATCH_NORM_CUH_

#include <cstdint>

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

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_BATCH_NORM_CUH_
