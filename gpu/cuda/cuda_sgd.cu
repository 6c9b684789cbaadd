#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

__global__ void SgdKernel(SgdStep step, int64_t size, const float* gradient,
                          float* velocity, float* weights) {
  for (int64_t i = FirstElement(); i < size; i += ElementStride()) {
    const float w = weights[i];
    const float d = gradient[i] + step.weight_decay * w;
    float direction = d;
    if (velocity != nullptr) {
      const float v = step.momentum * velocity[i] + d;
      velocity[i] = v;
      direction = step.nesterov ? d + step.momentum * v : v;
    }
    weights[i] = w - step.rate * direction;
  }
}

}  // namespace

void CudaBackend::ApplySgd(const SgdStep& step, DeviceView gradient,
                           DeviceSpan velocity, DeviceSpan weights) {
  const bool remembers = step.momentum != 0;
  CHECK(gradient.size == weights.size);
  CHECK(velocity.size == (remembers ? weights.size : 0));
  SgdKernel<<<BlocksFor(weights.size), kThreads, 0, Stream()>>>(
      step, weights.size, gradient.data, remembers ? velocity.data : nullptr,
      weights.data);
  Launched("sgd");
}

}  // namespace paceline
