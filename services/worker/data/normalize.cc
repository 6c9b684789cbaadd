#include "services/worker/data/normalize.h"

#include <algorithm>

namespace paceline {

void Normalize(const uint8_t* bytes, int64_t count,
               const Normalization& normalization, float* to) {
  const float factor = 1.0f / (255.0f * normalization.deviation);
  const float offset = -normalization.mean / normalization.deviation;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<float>(bytes[i]) * factor + offset;
  }
}

void NormalizeMoved(const uint8_t* bytes, const ImageShape& shape,
                    const ImageMove& move, const Normalization& normalization,
                    const ImageShape& frame, float* to) {
  const float factor = 1.0f / (255.0f * normalization.deviation);
  const float offset = -normalization.mean / normalization.deviation;
  // The columns of the frame, from `left` to before `right`, that show some of
  // the image. A mean is 0 when it is normalized.
  const int left = std::clamp(-move.right, 0, frame.width);
  const int right = std::clamp(shape.width - move.right, left, frame.width);
  for (int y = 0; y < frame.height; ++y, to += frame.width) {
    const int source = y + move.down;
    if (source < 0 || source >= shape.height) {
      std::fill_n(to, frame.width, 0.0f);
      continue;
    }
    const uint8_t* const row = bytes + int64_t{source} * shape.width;
    std::fill(to, to + left, 0.0f);
    for (int x = left; x < right; ++x) {
      to[x] = static_cast<float>(row[x + move.right]) * factor + offset;
    }
    std::fill(to + right, to + frame.width, 0.0f);
    if (move.mirrored) std::reverse(to, to + frame.width);
  }
}

}  // namespace paceline
