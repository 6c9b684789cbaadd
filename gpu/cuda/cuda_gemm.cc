#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_status.h"

namespace paceline {

// cuBLAS has columns where we have rows: C^T = op(B)^T * op(A)^T.
void CudaBackend::Multiply(const GemmShape& shape, float alpha, Matrix a,
                           Matrix b, float beta, float* c, int64_t c_row) {
  if (shape.m == 0 || shape.n == 0) return;
  const auto op = [](bool transpose) {
    return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  Stream();
  Note(CublasStatus(
      cublasGemmEx_64(cublas_, op(shape.transpose_b), op(shape.transpose_a),
                      shape.n, shape.m, shape.k, &alpha, b.data, CUDA_R_32F,
                      b.row, a.data, CUDA_R_32F, a.row, &beta, c, CUDA_R_32F,
                      c_row, compute_, CUBLAS_GEMM_DEFAULT),
      "cublasGemmEx"));
}

void CudaBackend::Gemm(const GemmShape& shape, float alpha, DeviceView a,
                       DeviceView b, float beta, DeviceSpan c) {
  CHECK(a.size == shape.m * shape.k);
  CHECK(b.size == shape.k * shape.n);
  CHECK(c.size == shape.m * shape.n);
  if (shape.k == 0) return beta == 0 ? Fill(0, c) : Scale(beta, c);
  Multiply(shape, alpha, {a.data, shape.transpose_a ? shape.m : shape.k},
           {b.data, shape.transpose_b ? shape.k : shape.n}, beta, c.data,
           shape.n);
}

}  // namespace paceline
