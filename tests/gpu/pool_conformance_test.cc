#include <vector>

#include "tests/gpu/conformance.h"

namespace paceline {
namespace {

class PoolConformanceTest : public ConformanceTest {};
PACELINE_ON_EVERY_BACKEND(PoolConformanceTest);

const std::vector<PoolShape>& Shapes() {
  static const auto* const shapes = new std::vector<PoolShape>{
      {.planes = 3, .height = 8, .width = 28, .window = 2, .stride = 2},
      {.planes = 2, .height = 7, .width = 5, .window = 2, .stride = 2},
      {.planes = 2, .height = 9, .width = 8, .window = 3, .stride = 2},
      {.planes = 5, .height = 6, .width = 6, .window = 6, .stride = 6},
      {.planes = 4, .height = 3, .width = 3, .window = 1, .stride = 1},
  };
  return *shapes;
}

// The input indices of output `out`, row by row.
std::vector<int64_t> WindowOf(const PoolShape& shape, int64_t out) {
  const int64_t x = out % shape.out_width() * shape.stride;
  const int64_t y = out / shape.out_width() % shape.out_height() * shape.stride;
  const int64_t plane = out / shape.out_width() / shape.out_height();
  std::vector<int64_t> window;
  for (int64_t i = 0; i < shape.window * shape.window; ++i) {
    const int64_t row = plane * shape.height + y + i / shape.window;
    window.push_back(row * shape.width + x + i % shape.window);
  }
  return window;
}

// Few different values, so that windows have several largest ones.
std::vector<float> ManyTies(int64_t size, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(rng.Below(3)) - 1;
  return values;
}

TEST_P(PoolConformanceTest, MaxPool) {
  for (const PoolShape& shape : Shapes()) {
    for (const auto& x : {RandomFloats(shape.input_size(), 1),
                          ManyTies(shape.input_size(), 2)}) {
      const auto dy = RandomFloats(shape.output_size(), 3);
      std::vector<float> y(shape.output_size()), dx(shape.input_size());
      for (int64_t out = 0; out < shape.output_size(); ++out) {
        int64_t best = -1;
        for (const int64_t in : WindowOf(shape, out)) {
          if (best < 0 || x[in] > x[best]) best = in;
        }
        y[out] = x[best];
        dx[best] += dy[out];
      }
      const DeviceArray device_x(*backend_, x), device_dy(*backend_, dy);
      const DeviceArray out(*backend_, shape.output_size(), kNan);
      const DeviceArray din(*backend_, shape.input_size(), kNan);
      backend_->MaxPoolForward(shape, device_x.span(), out.span());
      EXPECT_EQ(out.Host(), y);
      backend_->MaxPoolBackward(shape, device_x.span(), device_dy.span(),
                                din.span());
      ExpectNear(din.Host(), dx, 1e-6f);
    }
  }
}

TEST_P(PoolConformanceTest, AvgPool) {
  for (const PoolShape& shape : Shapes()) {
    const auto x = RandomFloats(shape.input_size(), 1);
    const auto dy = RandomFloats(shape.output_size(), 3);
    const auto area = static_cast<float>(shape.window * shape.window);
    std::vector<float> y(shape.output_size()), dx(shape.input_size());
    for (int64_t out = 0; out < shape.output_size(); ++out) {
      for (const int64_t in : WindowOf(shape, out)) {
        y[out] += x[in] / area;
        dx[in] += dy[out] / area;
      }
    }
    const DeviceArray device_x(*backend_, x), device_dy(*backend_, dy);
    const DeviceArray out(*backend_, shape.output_size(), kNan);
    const DeviceArray din(*backend_, shape.input_size(), kNan);
    backend_->AvgPoolForward(shape, device_x.span(), out.span());
    ExpectNear(out.Host(), y, 1e-5f);
    backend_->AvgPoolBackward(shape, device_dy.span(), din.span());
    ExpectNear(din.Host(), dx, 1e-5f);
  }
}

}  // namespace
}  // namespace paceline
