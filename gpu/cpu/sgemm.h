#ifndef PACELINE_GPU_CPU_SGEMM_H_
#define PACELINE_GPU_CPU_SGEMM_H_

#include <cstdint>

#include "gpu/shapes.h"

namespace paceline {

// Row-major matrices whose rows are `row` floats apart, so that a part of a
// larger matrix can be named.
struct Matrix {
  const float* data = nullptr;
  int64_t row = 0;
};
struct MutableMatrix {
  float* data = nullptr;
  int64_t row = 0;
};

// c = alpha * op(a) * op(b) + beta * c.
void Sgemm(const GemmShape& shape, float alpha, Matrix a, Matrix b, float beta,
           MutableMatrix c);

}  // namespace paceline

#endif  // PACELINE_GPU_CPU_SGEMM_H_
