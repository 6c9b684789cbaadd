#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

__global__ void MomentsKernel(int64_t channels, float weight, const float* mean,
                              const float* variance, float beta,
                              float* mean_sum, float* mean_square_sum) {
  for (int64_t c = FirstElement(); c < channels; c += ElementStride()) {
    const float m = mean[c];
    const float square = variance[c] + m * m;
    mean_sum[c] = Accumulate(beta, mean_sum[c], weight * m);
    mean_square_sum[c] = Accumulate(beta, mean_square_sum[c], weight * square);
  }
}

}  // namespace

void CudaBackend::BatchNormMoments(float weight, DeviceView mean,
                                   DeviceView variance, float beta,
                                   DeviceSpan mean_sum,
                                   DeviceSpan mean_square_sum) {
  CHECK(mean.size == variance.size && mean.size == mean_sum.size);
  CHECK(mean.size == mean_square_sum.size);
  MomentsKernel<<<BlocksFor(mean.size), kThreads, 0, Stream()>>>(
      mean.size, weight, mean.data, variance.data, beta, mean_sum.data,
      mean_square_sum.data);
  Launched("batch norm moments");
}

}  // namespace paceline
