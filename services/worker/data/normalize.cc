#include "services/worker/data/normalize.h"

namespace paceline {

void Normalize(const uint8_t* bytes, int64_t count,
               const Normalization& normalization, float* to) {
  const float factor = 1.0f / (255.0f * normalization.deviation);
  const float offset = -normalization.mean / normalization.deviation;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<float>(bytes[i]) * factor + offset;
  }
}

}  // namespace paceline
