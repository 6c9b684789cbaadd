#include "common/check.h"
#include "gpu/cuda/cuda_backend.h"
#include "gpu/cuda/cuda_launch.cuh"

namespace paceline {
namespace {

constexpr int kRowThreads = 32;

// A warp for each row. What every thread holds of the row is combined in a
// fixed order by exchange with the others.
__global__ void LossKernel(LossShape shape, const float* logits,
                           const float* labels, float scale, float* dlogits,
                           float* loss, float* correct) {
  const int64_t b = blockIdx.x;
  const float* const row = logits + b * shape.classes;
  const int classes = static_cast<int>(shape.classes);
  const int label = static_cast<int>(labels[b]);
  // The first of the largest.
  float largest = row[0];
  int at = 0;
  for (int c = static_cast<int>(threadIdx.x); c < classes; c += kRowThreads) {
    if (row[c] > largest) {
      largest = row[c];
      at = c;
    }
  }
  for (int half = kRowThreads / 2; half > 0; half /= 2) {
    const float other = __shfl_xor_sync(~0u, largest, half);
    const int other_at = __shfl_xor_sync(~0u, at, half);
    if (other > largest || (other == largest && other_at < at)) {
      largest = other;
      at = other_at;
    }
  }
  // Shifted by the largest, no exponential overflows.
  float sum = 0;
  for (int c = static_cast<int>(threadIdx.x); c < classes; c += kRowThreads) {
    sum += expf(row[c] - largest);
  }
  for (int half = kRowThreads / 2; half > 0; half /= 2) {
    sum += __shfl_xor_sync(~0u, sum, half);
  }
  if (threadIdx.x == 0) {
    loss[b] = logf(sum) - (row[label] - largest);
    correct[b] = at == label ? 1.0f : 0.0f;
  }
  if (dlogits == nullptr) return;
  float* const gradient = dlogits + b * shape.classes;
  for (int c = static_cast<int>(threadIdx.x); c < classes; c += kRowThreads) {
    const float probability = expf(row[c] - largest) / sum;
    gradient[c] = scale * (c == label ? probability - 1 : probability);
  }
}

}  // namespace

void CudaBackend::SoftmaxCrossEntropy(const LossShape& shape, DeviceView logits,
                                      DeviceView labels, float scale,
                                      DeviceSpan dlogits, DeviceSpan loss,
                                      DeviceSpan correct) {
  CHECK(logits.size == shape.batch * shape.classes);
  CHECK(dlogits.empty() || dlogits.size == logits.size);
  CHECK(labels.size == shape.batch);
  CHECK(loss.size == shape.batch && correct.size == shape.batch);
  if (shape.batch == 0) return;
  LossKernel<<<static_cast<unsigned>(shape.batch), kRowThreads, 0, Stream()>>>(
      shape, logits.data, labels.data, scale, dlogits.data, loss.data,
      correct.data);
  Launched("softmax and cross-entropy");
}

}  // namespace paceline
