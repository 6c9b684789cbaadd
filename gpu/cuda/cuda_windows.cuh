#ifndef PACELINE_GPU_CUDA_CUDA_WINDOWS_CUH_
#define PACELINE_GPU_CUDA_CUDA_WINDOWS_CUH_

#include <cstdint>

#include "gpu/shapes.h"

namespace paceline {

// The windows of a pool along one axis that see pixel `i`: [begin, end).
struct WindowRange {
  int64_t begin;
  int64_t end;
};

__device__ inline WindowRange WindowsOf(int64_t i, const PoolShape& shape,
                                        int64_t windows) {
  const int64_t begin =
      i < shape.window ? 0 : (i - shape.window) / shape.stride + 1;
  return {begin, min(i / shape.stride + 1, windows)};
}

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_WINDOWS_CUH_
