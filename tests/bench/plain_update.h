#ifndef PACELINE_TESTS_BENCH_PLAIN_UPDATE_H_
#define PACELINE_TESTS_BENCH_PLAIN_UPDATE_H_

#include <cstddef>

namespace paceline {

// w -= rate * g: what an update costs with nothing around it.
void PlainSgd(float* weights, const float* gradient, float rate, size_t count);

// v = momentum * v + g;  w -= rate * v.
void PlainMomentum(float* weights, float* velocity, const float* gradient,
                   float momentum, float rate, size_t count);

}  // namespace paceline

#endif  // PACELINE_TESTS_BENCH_PLAIN_UPDATE_H_
