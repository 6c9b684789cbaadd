#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "gpu/cpu/cpu_backend.h"

namespace paceline {

void CpuBackend::SoftmaxCrossEntropy(const LossShape& shape, DeviceView logits,
                                     DeviceView labels, float scale,
                                     DeviceSpan dlogits, DeviceSpan loss,
                                     DeviceSpan correct) {
  CHECK(logits.size == shape.batch * shape.classes);
  CHECK(dlogits.empty() || dlogits.size == logits.size);
  CHECK(labels.size == shape.batch);
  CHECK(loss.size == shape.batch && correct.size == shape.batch);
  for (int64_t b = 0; b < shape.batch; ++b) {
    const float* row = logits.data + b * shape.classes;
    const auto label = static_cast<int64_t>(labels.data[b]);
    CHECK(label >= 0 && label < shape.classes);
    const float* largest = std::max_element(row, row + shape.classes);
    // Shifted by the largest, no exponential overflows.
    float sum = 0;
    for (int64_t c = 0; c < shape.classes; ++c) {
      sum += std::exp(row[c] - *largest);
    }
    loss.data[b] = std::log(sum) - (row[label] - *largest);
    correct.data[b] = largest == row + label ? 1.0f : 0.0f;
    if (dlogits.empty()) continue;
    float* gradient = dlogits.data + b * shape.classes;
    for (int64_t c = 0; c < shape.classes; ++c) {
      const float probability = std::exp(row[c] - *largest) / sum;
      gradient[c] = scale * (c == label ? probability - 1 : probability);
    }
  }
}

}  // namespace paceline
