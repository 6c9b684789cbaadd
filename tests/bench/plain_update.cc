#include "tests/bench/plain_update.h"

namespace paceline {

void PlainSgd(float* __restrict weights, const float* __restrict gradient,
              float rate, size_t count) {
  for (size_t i = 0; i < count; ++i) weights[i] -= rate * gradient[i];
}

void PlainMomentum(float* __restrict weights, float* __restrict velocity,
                   const float* __restrict gradient, float momentum, float rate,
                   size_t count) {
  for (size_t i = 0; i < count; ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    weights[i] -= rate * velocity[i];
  }
}

}  // namespace paceline
