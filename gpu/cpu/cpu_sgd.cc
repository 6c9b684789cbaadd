#include "common/check.h"
#include "gpu/cpu/cpu_backend.h"

namespace paceline {

void CpuBackend::ApplySgd(const SgdStep& step, DeviceView gradient,
                          DeviceSpan velocity, DeviceSpan weights) {
  const bool remembers = step.momentum != 0;
  CHECK(gradient.size == weights.size);
  CHECK(velocity.size == (remembers ? weights.size : 0));
  for (int64_t i = 0; i < weights.size; ++i) {
    const float d = gradient.data[i] + step.weight_decay * weights.data[i];
    float direction = d;
    if (remembers) {
      const float v = step.momentum * velocity.data[i] + d;
      velocity.data[i] = v;
      direction = step.nesterov ? d + step.momentum * v : v;
    }
    weights.data[i] -= step.rate * direction;
  }
}

}  // namespace paceline
