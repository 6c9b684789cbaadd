#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_batch_norm.cuh"

namespace paceline {
namespace {

__global__ void InferenceKernel(BatchNormShape shape, const float* x,
                                const float* scale, const float* shift,
                                const float* mean, const float* mean_square,
                                float* y) {
  const int64_t channel = blockIdx.y;
  const float m = mean[channel];
  // Rounding can make the difference of two averages slightly negative.
  const float variance = fmaxf(mean_square[channel] - m * m, 0.0f);
  ApplyToTile(
      shape,
      FoldedAffine(scale[channel], shift[channel], m, variance, shape.epsilon),
      x, y);
}

}  // namespace

void CudaBackend::BatchNormInference(const BatchNormShape& shape, DeviceView x,
                                     DeviceView scale, DeviceView shift,
                                     DeviceView mean, DeviceView mean_square,
                                     DeviceSpan y) {
  CHECK(x.size == shape.size() && y.size == shape.size());
  CHECK(scale.size == shape.channels && shift.size == shape.channels);
  CHECK(mean.size == shape.channels && mean_square.size == shape.channels);
  if (shape.size() == 0) return;
  InferenceKernel<<<TileGrid(shape), kThreads, 0, Stream()>>>(
      shape, x.data, scale.data, shift.data, mean.data, mean_square.data,
      y.data);
  Launched("batch norm inference");
}

}  // namespace paceline
