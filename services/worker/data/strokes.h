#ifndef PACELINE_SERVICES_WORKER_DATA_STROKES_H_
#define PACELINE_SERVICES_WORKER_DATA_STROKES_H_

#include <cstdint>
#include <vector>

namespace paceline {

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

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_STROKES_H_
