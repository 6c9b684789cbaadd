#include <vector>

#include "tests/gpu/conformance.h"

namespace paceline {
namespace {

class LayoutConformanceTest : public ConformanceTest {};
PACELINE_ON_EVERY_BACKEND(LayoutConformanceTest);

TEST_P(LayoutConformanceTest, SwapLeading) {
  const int64_t first = 3, second = 5, inner = 7;
  const auto x = RandomFloats(first * second * inner, 1);
  std::vector<float> want(x.size());
  for (int64_t a = 0; a < first; ++a) {
    for (int64_t b = 0; b < second; ++b) {
      for (int64_t i = 0; i < inner; ++i) {
        want[(b * first + a) * inner + i] = x[(a * second + b) * inner + i];
      }
    }
  }
  const DeviceArray dx(*backend_, x);
  const DeviceArray y(*backend_, first * second * inner, kNan);
  backend_->SwapLeading(first, second, inner, dx.span(), y.span());
  EXPECT_EQ(y.Host(), want);
}

// Every pair of pixels that the shortcut joins, from its definition.
template <class Body>
void ForEachJoined(const ShortcutShape& s, const Body& body) {
  for (int64_t c = 0; c < s.in_channels; ++c) {
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t y = 0; y < s.out_height(); ++y) {
        for (int64_t x = 0; x < s.out_width(); ++x) {
          const int64_t in =
              ((c * s.batch + n) * s.height + y * s.stride) * s.width +
              x * s.stride;
          const int64_t to = c + (s.out_channels - s.in_channels) / 2;
          body(in,
               ((to * s.batch + n) * s.out_height() + y) * s.out_width() + x);
        }
      }
    }
  }
}

TEST_P(LayoutConformanceTest, Shortcut) {
  for (const ShortcutShape& shape :
       {ShortcutShape{2, 3, 3, 4, 5, 1}, ShortcutShape{3, 4, 8, 6, 8, 2},
        ShortcutShape{2, 2, 4, 5, 7, 2}, ShortcutShape{2, 2, 6, 4, 4, 1},
        ShortcutShape{2, 3, 3, 4, 5, 1, Activation::kRelu},
        ShortcutShape{2, 2, 4, 5, 7, 2, Activation::kRelu}}) {
    const auto x = RandomFloats(shape.input_size(), 1);
    const auto y = RandomFloats(shape.output_size(), 2);
    auto want_y = y, want_dx = x;
    ForEachJoined(shape, [&](int64_t in, int64_t out) {
      want_y[out] += x[in];
      want_dx[in] += y[out];
    });
    if (shape.activation == Activation::kRelu) {
      for (float& value : want_y) value = Relu(value);
    }
    const DeviceArray dx(*backend_, x), device_x(*backend_, x);
    const DeviceArray dy(*backend_, y), device_y(*backend_, y);
    backend_->AddShortcut(shape, device_x.span(), device_y.span());
    EXPECT_EQ(device_y.Host(), want_y);
    backend_->AddShortcutGradient(shape, dy.span(), dx.span());
    EXPECT_EQ(dx.Host(), want_dx);
  }
}

}  // namespace
}  // namespace paceline
