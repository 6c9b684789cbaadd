#ifndef PACELINE_GPU_CPU_REDUCE_H_
#define PACELINE_GPU_CPU_REDUCE_H_

#include <cstdint>

namespace paceline {

// The sum of term(i), 0 <= i < count, in sixteen fixed lanes: the order of the
// additions is part of the code, so the bits are the same on every machine,
// and yet the compiler can use vectors.
template <class Term>
inline float SumOf(int64_t count, const Term& term) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += term(i);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// beta * old + value, where beta 0 overwrites: 0 * NaN would be NaN.
inline float Accumulated(float beta, float old, float value) {
  return beta == 0 ? value : beta * old + value;
}

}  // namespace paceline

#endif  // PACELINE_GPU_CPU_REDUCE_H_
