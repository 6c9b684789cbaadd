#ifndef PACELINE_GPU_CUDA_CUDA_LAUNCH_CUH_
#define PACELINE_GPU_CUDA_CUDA_LAUNCH_CUH_

#include <algorithm>
#include <cstdint>

// How kernels are laid out. Loops over elements stride by the whole grid, so
// that a size of any magnitude needs no more blocks than a card keeps busy.

namespace paceline {

constexpr int kThreads = 256;
constexpr int64_t kBlocksMax = 16'384;

inline unsigned BlocksFor(int64_t elements) {
  return static_cast<unsigned>(
      std::clamp<int64_t>((elements + kThreads - 1) / kThreads, 1, kBlocksMax));
}

// Rows as the grid's second dimension, and in the first some elements of a row
// for each thread, so that what it works out for the row is worth it.
inline dim3 GridOfRows(int64_t rows, int64_t in_row) {
  constexpr int64_t kPerThread = 8;
  constexpr int64_t kRowsMax = 65'535;  // What CUDA allows.
  return dim3(BlocksFor((in_row + kPerThread - 1) / kPerThread),
              static_cast<unsigned>(std::clamp<int64_t>(rows, 1, kRowsMax)));
}

__device__ inline int64_t FirstElement() {
  return int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline int64_t ElementStride() {
  return int64_t{gridDim.x} * blockDim.x;
}

// The sum over the block, in a fixed order, to every thread. `scratch` holds
// kThreads values.  REQUIRES: blocks of kThreads; all threads call it.
__device__ inline float BlockSum(float value, float* scratch) {
  __syncthreads();  // Others may still read an earlier sum.
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  return scratch[0];
}

// beta * old + value, where beta 0 overwrites: 0 * NaN would be NaN.
__device__ inline float Accumulate(float beta, float old, float value) {
  return beta == 0 ? value : beta * old + value;
}

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_LAUNCH_CUH_
