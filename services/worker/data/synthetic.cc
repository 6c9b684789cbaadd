#include "services/worker/data/synthetic.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/job/names.h"
#include "common/job/normalization.h"
#include "common/rng.h"
#include "common/status.h"

namespace paceline {
namespace {

// A point in 64ths of a pixel.
struct StrokePoint {
  int x = 0;
  int y = 0;
};

constexpr int kStrokeUnit = 64;

// How much ink every pixel of a square canvas has, 0 to 255.
class StrokeCanvas {
 public:
  explicit StrokeCanvas(int side) : side_(side), ink_(side * side) {}

  // Draws a line from `from` to `to`, `radius` thick on each side, with an
  // edge of one pixel. Ink outside of the canvas is lost; ink over ink does
  // not add up.
  void Line(StrokePoint from, StrokePoint to, int radius);

  uint8_t ink(int x, int y) const { return ink_[y * side_ + x]; }

 private:
  void Dot(StrokePoint center, int radius);

  const int side_;
  std::vector<uint8_t> ink_;
};

// The pixel that a coordinate lies in, also left of the canvas.
int PixelOf(int coordinate) { return coordinate >> 6; }

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

struct SyntheticSet {
  absl::string_view name;
  ImageShape shape;
  uint32_t train = 0;
  uint32_t test = 0;
};

const std::vector<SyntheticSet>& Sets() {
  static const auto* const sets = new std::vector<SyntheticSet>{
      {kShapes, {1, 28, 28}, 12000, 2000},
      {kTiny, {1, 28, 28}, 1024, 256},
      {kColorShapes, {3, 32, 32}, 12000, 2000},
  };
  return *sets;
}

// Load-bearing: another seed is another data set.
constexpr uint64_t kSeed = 0x7061636c696e65;

constexpr int kClasses = 10;

// Lines on a square from -100 to 100, four numbers each.
using Line = std::array<int, 4>;

const std::vector<Line>& LinesOf(int shape) {
  static const auto* const lines = new std::array<std::vector<Line>, kClasses>{{
      // A ring, of twelve sides.
      {{100, 0, 87, 50},
       {87, 50, 50, 87},
       {50, 87, 0, 100},
       {0, 100, -50, 87},
       {-50, 87, -87, 50},
       {-87, 50, -100, 0},
       {-100, 0, -87, -50},
       {-87, -50, -50, -87},
       {-50, -87, 0, -100},
       {0, -100, 50, -87},
       {50, -87, 87, -50},
       {87, -50, 100, 0}},
      // A square.
      {{-90, -90, 90, -90},
       {90, -90, 90, 90},
       {90, 90, -90, 90},
       {-90, 90, -90, -90}},
      // A triangle.
      {{0, -95, 95, 85}, {95, 85, -95, 85}, {-95, 85, 0, -95}},
      // A plus.
      {{-100, 0, 100, 0}, {0, -100, 0, 100}},
      // A cross.
      {{-85, -85, 85, 85}, {-85, 85, 85, -85}},
      // Two bars, lying.
      {{-90, -55, 90, -55}, {-90, 55, 90, 55}},
      // Two bars, standing.
      {{-55, -90, -55, 90}, {55, -90, 55, 90}},
      // A slash.
      {{-85, 85, 85, -85}},
      // A corner.
      {{-80, -90, -80, 80}, {-80, 80, 90, 80}},
      // A zigzag.
      {{-90, -80, 90, -80}, {90, -80, -90, 80}, {-90, 80, 90, 80}},
  }};
  return (*lines)[shape];
}

// Uniform in [from, to].
int Between(Rng& rng, int from, int to) {
  return from + static_cast<int>(rng.Below(to - from + 1));
}

void DrawShape(int shape, int side, Rng& rng, StrokeCanvas& canvas) {
  // Half the size, in 64ths of a pixel, and room for it on every side.
  const int half_x = Between(rng, 7 * kStrokeUnit, 10 * kStrokeUnit);
  const int half_y = Between(rng, 7 * kStrokeUnit, 10 * kStrokeUnit);
  const int middle = side * kStrokeUnit / 2;
  const int room_x = middle - half_x - kStrokeUnit;
  const int room_y = middle - half_y - kStrokeUnit;
  const int x = middle + Between(rng, -room_x, room_x);
  const int y = middle + Between(rng, -room_y, room_y);
  const int radius = Between(rng, 40, 90);
  // Leaning, so that lines are not pixel rows.
  const int lean = Between(rng, -12, 12);
  const auto place = [&](int px, int py) {
    return StrokePoint{x + (px * 100 + lean * py) * half_x / 10000,
                       y + (py * 100 - lean * px) * half_y / 10000};
  };
  for (const Line& line : LinesOf(shape)) {
    canvas.Line(place(line[0], line[1]), place(line[2], line[3]), radius);
  }
}

// Ground and ink of one channel, and noise over both.
void PaintChannel(const StrokeCanvas& canvas, int side, int ground,
                  int contrast, Rng& rng, uint8_t* to) {
  uint64_t bits = 0;
  for (int i = 0; i < side * side; ++i) {
    if (i % 8 == 0) bits = rng.Next();
    const int noise = static_cast<int>(bits & 63) - 32;
    bits >>= 8;
    const int ink = canvas.ink(i % side, i / side);
    const int value = ground + contrast * ink / 255 + noise;
    to[i] = static_cast<uint8_t>(std::clamp(value, 0, 255));
  }
}

void DrawImage(int shape, const ImageShape& image, Rng& rng, uint8_t* to) {
  StrokeCanvas canvas(image.height);
  DrawShape(shape, image.height, rng, canvas);
  const int sign = rng.Chance(1, 2) ? 1 : -1;
  for (int c = 0; c < image.channels; ++c) {
    const int contrast = Between(rng, 90, 150);
    // Near the middle: a strong mean of the image would make training unsteady.
    const int ground = 128 - sign * contrast / 4 + Between(rng, -15, 15);
    PaintChannel(canvas, image.height, ground, sign * contrast, rng, to);
    to += image.height * image.width;
  }
}

}  // namespace

absl::StatusOr<Dataset> DrawSynthetic(absl::string_view name, Split split) {
  PACELINE_RETURN_IF_ERROR(CheckSyntheticName(name));
  for (const SyntheticSet& set : Sets()) {
    if (set.name != name) continue;
    const uint32_t count = split == Split::kTrain ? set.train : set.test;
    RawImages raw;
    raw.shape = set.shape;
    raw.classes = kClasses;
    raw.normalization.assign(set.shape.channels,
                             NormalizationOf(kSynthetic).front());
    raw.pixels.resize(count * set.shape.size());
    for (uint32_t i = 0; i < count; ++i) {
      // A stream for each image: the splits have none in common.
      const uint64_t stream = uint64_t{2} * i + (split == Split::kTest ? 1 : 0);
      Rng rng(DeriveSeed(kSeed, stream));
      raw.labels.push_back(static_cast<uint8_t>(i % kClasses));
      DrawImage(raw.labels.back(), set.shape, rng,
                raw.pixels.data() + i * set.shape.size());
    }
    return Dataset::Create(absl::StrCat("synthetic:", name), std::move(raw));
  }
  CHECK(false);  // A name without a set.
}

}  // namespace paceline
