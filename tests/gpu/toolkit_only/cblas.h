#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_CBLAS_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_CBLAS_H_

#include <vector>

// The one matrix product that the CPU twin asks of a BLAS, plainly.

using blasint = int;
enum CblasOrder { CblasRowMajor };
enum CblasTranspose { CblasNoTrans, CblasTrans };

inline void openblas_set_num_threads(int /*threads*/) {}

inline void cblas_sgemm(CblasOrder /*order*/, CblasTranspose transpose_a,
                        CblasTranspose transpose_b, blasint m, blasint n,
                        blasint k, float alpha, const float* a, blasint a_row,
                        const float* b, blasint b_row, float beta, float* c,
                        blasint c_row) {
#pragma omp parallel for
  for (blasint i = 0; i < m; ++i) {
    std::vector<float> sums(n);
    for (blasint l = 0; l < k; ++l) {
      const float factor = transpose_a == CblasTrans ? a[long{l} * a_row + i]
                                                     : a[long{i} * a_row + l];
      if (transpose_b == CblasTrans) {
        for (blasint j = 0; j < n; ++j)
          sums[j] += factor * b[long{j} * b_row + l];
      } else {
        const float* const row = b + long{l} * b_row;
        for (blasint j = 0; j < n; ++j) sums[j] += factor * row[j];
      }
    }
    float* const out = c + long{i} * c_row;
    for (blasint j = 0; j < n; ++j) {
      out[j] = (beta == 0 ? 0 : beta * out[j]) + alpha * sums[j];
    }
  }
}

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_CBLAS_H_
