#ifndef PACELINE_GPU_CPU_ACTIVATE_H_
#define PACELINE_GPU_CPU_ACTIVATE_H_

#include "gpu/shapes.h"

namespace paceline {

// Known to the compiler, so that a loop over elements stays a loop of vectors.
template <Activation activation>
inline float Activate(float value) {
  if constexpr (activation == Activation::kRelu) {
    return value < 0 ? 0.0f : value;  // NaN stays NaN.
  }
  return value;
}

// dy where the activation let `value` pass, before or after it.
template <Activation activation>
inline float Passed(float value, float dy) {
  if constexpr (activation == Activation::kRelu) return value > 0 ? dy : 0.0f;
  return dy;
}

// Calls body.operator()<activation>().
template <class Body>
inline void WithActivation(Activation activation, const Body& body) {
  if (activation == Activation::kRelu) {
    body.template operator()<Activation::kRelu>();
  } else {
    body.template operator()<Activation::kNone>();
  }
}

}  // namespace paceline

#endif  // PACELINE_GPU_CPU_ACTIVATE_H_
