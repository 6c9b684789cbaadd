#include <cblas.h>

#include "common/check.h"
#include "gpu/cpu/activate.h"
#include "gpu/cpu/cpu_backend.h"
#include "gpu/cpu/reduce.h"
#include "gpu/cpu/sgemm.h"

namespace paceline {

CpuBackend::CpuBackend(int threads) {
  CHECK(threads > 0);
  openblas_set_num_threads(threads);
}

void Sgemm(const GemmShape& shape, float alpha, Matrix a, Matrix b, float beta,
           MutableMatrix c) {
  if (shape.m == 0 || shape.n == 0) return;
  cblas_sgemm(CblasRowMajor, shape.transpose_a ? CblasTrans : CblasNoTrans,
              shape.transpose_b ? CblasTrans : CblasNoTrans,
              static_cast<blasint>(shape.m), static_cast<blasint>(shape.n),
              static_cast<blasint>(shape.k), alpha, a.data,
              static_cast<blasint>(a.row), b.data, static_cast<blasint>(b.row),
              beta, c.data, static_cast<blasint>(c.row));
}

void CpuBackend::Gemm(const GemmShape& shape, float alpha, DeviceView a,
                      DeviceView b, float beta, DeviceSpan c) {
  CHECK(a.size == shape.m * shape.k);
  CHECK(b.size == shape.k * shape.n);
  CHECK(c.size == shape.m * shape.n);
  Sgemm(shape, alpha, {a.data, shape.transpose_a ? shape.m : shape.k},
        {b.data, shape.transpose_b ? shape.k : shape.n}, beta,
        {c.data, shape.n});
}

void CpuBackend::AddBias(const BiasShape& shape, DeviceView bias,
                         DeviceSpan y) {
  CHECK(bias.size == shape.channels && y.size == shape.size());
  WithActivation(shape.activation, [&]<Activation activation>() {
    float* at = y.data;
    for (int64_t o = 0; o < shape.outer; ++o) {
      if (shape.inner == 1) {
        for (int64_t c = 0; c < shape.channels; ++c) {
          at[c] = Activate<activation>(at[c] + bias.data[c]);
        }
        at += shape.channels;
        continue;
      }
      for (int64_t c = 0; c < shape.channels; ++c) {
        for (int64_t i = 0; i < shape.inner; ++i) {
          at[i] = Activate<activation>(at[i] + bias.data[c]);
        }
        at += shape.inner;
      }
    }
  });
}

void CpuBackend::ReduceBias(const BiasShape& shape, DeviceView dy, float beta,
                            DeviceSpan dbias) {
  CHECK(dbias.size == shape.channels && dy.size == shape.size());
  float* const sums = dbias.data;
  for (int64_t c = 0; c < shape.channels; ++c) {
    sums[c] = Accumulated(beta, sums[c], 0.0f);
  }
  const float* at = dy.data;
  for (int64_t o = 0; o < shape.outer; ++o) {
    if (shape.inner == 1) {
      for (int64_t c = 0; c < shape.channels; ++c) sums[c] += at[c];
      at += shape.channels;
      continue;
    }
    for (int64_t c = 0; c < shape.channels; ++c) {
      sums[c] += SumOf(shape.inner, [at](int64_t i) { return at[i]; });
      at += shape.inner;
    }
  }
}

}  // namespace paceline
