#include "services/worker/data/strokes.h"

#include <algorithm>
#include <cstdlib>

namespace paceline {
namespace {

// The pixel that a coordinate lies in, also left of the canvas.
int PixelOf(int coordinate) { return coordinate >> 6; }

}  // namespace

void StrokeCanvas::Line(StrokePoint from, StrokePoint to, int radius) {
  const int dx = to.x - from.x, dy = to.y - from.y;
  // A dot every half pixel looks like a line.
  const int steps =
      std::max({1, std::abs(dx), std::abs(dy)}) * 2 / kStrokeUnit + 1;
  for (int i = 0; i <= steps; ++i) {
    Dot({from.x + dx * i / steps, from.y + dy * i / steps}, radius);
  }
}

void StrokeCanvas::Dot(StrokePoint center, int radius) {
  // Full ink up to radius - 1/2 pixel, none from radius + 1/2 on, and in
  // between by the squared distance, which needs no root.
  const int64_t full = std::max(radius - kStrokeUnit / 2, 0);
  const int64_t none = radius + kStrokeUnit / 2;
  const int reach = static_cast<int>(none);
  const int x_end = std::min(side_ - 1, PixelOf(center.x + reach));
  const int y_end = std::min(side_ - 1, PixelOf(center.y + reach));
  for (int y = std::max(0, PixelOf(center.y - reach)); y <= y_end; ++y) {
    for (int x = std::max(0, PixelOf(center.x - reach)); x <= x_end; ++x) {
      const int64_t dx = x * kStrokeUnit + kStrokeUnit / 2 - center.x;
      const int64_t dy = y * kStrokeUnit + kStrokeUnit / 2 - center.y;
      const int64_t ink =
          255 * (none * none - dx * dx - dy * dy) / (none * none - full * full);
      uint8_t& pixel = ink_[y * side_ + x];
      pixel = std::max(pixel,
                       static_cast<uint8_t>(std::clamp<int64_t>(ink, 0, 255)));
    }
  }
}

}  // namespace paceline
