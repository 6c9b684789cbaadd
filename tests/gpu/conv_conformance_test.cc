#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu/conformance.h"

namespace paceline {
namespace {

class ConvConformanceTest : public ConformanceTest {};
PACELINE_ON_EVERY_BACKEND(ConvConformanceTest);

// Our models' shapes in small, strides, padding that reaches over a whole
// kernel, and one batch large enough to be computed in several parts.
const std::vector<ConvShape>& Shapes() {
  static const auto* const shapes = new std::vector<ConvShape>{
      // Batch, in channels, height, width, out channels, kernel, stride, pad.
      {1, 1, 1, 1, 1, 1, 1, 0},     {2, 1, 9, 7, 6, 5, 1, 2},
      {3, 4, 8, 11, 3, 5, 1, 0},    {2, 3, 8, 8, 5, 3, 2, 1},
      {2, 2, 7, 9, 4, 3, 2, 0},     {2, 2, 2, 3, 2, 5, 1, 3},
      {7, 16, 32, 32, 16, 3, 1, 1}, {0, 2, 5, 5, 3, 3, 1, 0},
  };
  return *shapes;
}

std::string Describe(const ConvShape& s) {
  return absl::StrCat("batch ", s.batch, " in ", s.in_channels, " ", s.height,
                      "x", s.width, " out ", s.out_channels, " kernel ",
                      s.kernel, " stride ", s.stride, " pad ", s.pad);
}

// Calls body(input index, weight index, output index) for every product that
// a convolution consists of.
template <class Body>
void ForEachProduct(const ConvShape& s, const Body& body) {
  const int64_t oh = s.out_height(), ow = s.out_width(), k = s.kernel;
  for (int64_t out = 0; out < s.output_size(); ++out) {
    const int64_t ox = out % ow, oy = out / ow % oh;
    const int64_t n = out / ow / oh % s.batch, m = out / ow / oh / s.batch;
    for (int64_t tap = 0; tap < s.patch(); ++tap) {
      const int64_t kx = tap % k, ky = tap / k % k, c = tap / k / k;
      const int64_t x = ox * s.stride + kx - s.pad;
      const int64_t y = oy * s.stride + ky - s.pad;
      if (x < 0 || x >= s.width || y < 0 || y >= s.height) continue;
      body(((c * s.batch + n) * s.height + y) * s.width + x,
           m * s.patch() + tap, out);
    }
  }
}

TEST_P(ConvConformanceTest, Forward) {
  for (const ConvShape& shape : Shapes()) {
    SCOPED_TRACE(Describe(shape));
    const auto x = RandomFloats(shape.input_size(), 1);
    const auto w = RandomFloats(shape.weight_size(), 2);
    const auto bias = RandomFloats(shape.out_channels, 3);
    std::vector<float> want(shape.output_size());
    ForEachProduct(shape, [&](int64_t in, int64_t weight, int64_t out) {
      want[out] += x[in] * w[weight];
    });
    const DeviceArray dx(*backend_, x), dw(*backend_, w);
    const DeviceArray dbias(*backend_, bias);
    const DeviceArray y(*backend_, shape.output_size(), kNan);
    backend_->ConvForward(shape, dx.span(), dw.span(), {}, y.span());
    ExpectNear(y.Host(), want, 1e-4f);
    backend_->ConvForward(shape, dx.span(), dw.span(), dbias.span(), y.span());
    for (int64_t i = 0; i < shape.output_size(); ++i) {
      want[i] += bias[i / shape.out_plane()];
    }
    ExpectNear(y.Host(), want, 1e-4f);
  }
}

TEST_P(ConvConformanceTest, BackwardWeights) {
  for (const ConvShape& shape : Shapes()) {
    SCOPED_TRACE(Describe(shape));
    const auto x = RandomFloats(shape.input_size(), 1);
    const auto dy = RandomFloats(shape.output_size(), 2);
    const auto old = RandomFloats(shape.weight_size(), 3);
    std::vector<double> sums(shape.weight_size());
    ForEachProduct(shape, [&](int64_t in, int64_t weight, int64_t out) {
      sums[weight] += double{x[in]} * dy[out];
    });
    std::vector<float> want(sums.begin(), sums.end());
    const DeviceArray dx(*backend_, x), ddy(*backend_, dy);
    const DeviceArray fresh(*backend_, shape.weight_size(), kNan);
    backend_->ConvBackwardWeights(shape, dx.span(), ddy.span(), 0,
                                  fresh.span());
    ExpectNear(fresh.Host(), want, 1e-3f);
    const DeviceArray more(*backend_, old);
    backend_->ConvBackwardWeights(shape, dx.span(), ddy.span(), 1, more.span());
    for (size_t i = 0; i < want.size(); ++i) want[i] += old[i];
    ExpectNear(more.Host(), want, 1e-3f);
  }
}

TEST_P(ConvConformanceTest, BackwardData) {
  for (const ConvShape& shape : Shapes()) {
    SCOPED_TRACE(Describe(shape));
    const auto w = RandomFloats(shape.weight_size(), 1);
    const auto dy = RandomFloats(shape.output_size(), 2);
    std::vector<float> want(shape.input_size());
    ForEachProduct(shape, [&](int64_t in, int64_t weight, int64_t out) {
      want[in] += w[weight] * dy[out];
    });
    const DeviceArray dw(*backend_, w), ddy(*backend_, dy);
    const DeviceArray dx(*backend_, shape.input_size(), kNan);
    backend_->ConvBackwardData(shape, dw.span(), ddy.span(), dx.span());
    ExpectNear(dx.Host(), want, 1e-4f);
  }
}

}  // namespace
}  // namespace paceline
