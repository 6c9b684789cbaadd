#ifndef PACELINE_GPU_CUDA_CUDA_ACTIVATE_CUH_
#define PACELINE_GPU_CUDA_CUDA_ACTIVATE_CUH_

#include "gpu/shapes.h"

namespace paceline {

// All threads of a launch take the same branch, so that it costs nothing.
__device__ inline float Activate(Activation activation, float value) {
  return activation == Activation::kRelu && value < 0 ? 0.0f : value;
}

// dy where the activation let `value` pass, before or after it.
__device__ inline float Passed(Activation activation, float value, float dy) {
  return activation == Activation::kRelu && !(value > 0) ? 0.0f : dy;
}

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_ACTIVATE_CUH_
