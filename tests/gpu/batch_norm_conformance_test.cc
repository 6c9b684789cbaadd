#include <cmath>
#include <vector>

#include "tests/gpu/conformance.h"

namespace paceline {
namespace {

class BatchNormConformanceTest : public ConformanceTest {};
PACELINE_ON_EVERY_BACKEND(BatchNormConformanceTest);

struct Moments {
  std::vector<float> mean;
  std::vector<float> variance;
};

Moments NaiveMoments(const BatchNormShape& shape, const std::vector<float>& x) {
  Moments moments;
  const auto count = static_cast<double>(shape.inner);
  for (int64_t c = 0; c < shape.channels; ++c) {
    double sum = 0, square = 0;
    for (int64_t i = 0; i < shape.inner; ++i) sum += x[c * shape.inner + i];
    const double mean = sum / count;
    for (int64_t i = 0; i < shape.inner; ++i) {
      square += std::pow(x[c * shape.inner + i] - mean, 2);
    }
    moments.mean.push_back(static_cast<float>(mean));
    moments.variance.push_back(static_cast<float>(square / count));
  }
  return moments;
}

std::vector<float> NaiveNormalize(const BatchNormShape& shape,
                                  const std::vector<float>& x,
                                  const Moments& moments,
                                  const std::vector<float>& scale,
                                  const std::vector<float>& shift) {
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i / static_cast<size_t>(shape.inner);
    y[i] = (x[i] - moments.mean[c]) /
               std::sqrt(moments.variance[c] + shape.epsilon) * scale[c] +
           shift[c];
    if (shape.activation == Activation::kRelu) y[i] = Relu(y[i]);
  }
  return y;
}

constexpr BatchNormShape kShape{.channels = 3, .inner = 203};

BatchNormShape WithRelu() {
  BatchNormShape shape = kShape;
  shape.activation = Activation::kRelu;
  return shape;
}

// Far from zero: E[x^2] - mean^2 in floats would be all rounding.
std::vector<float> FarInput() {
  auto x = RandomFloats(kShape.size(), 1);
  for (float& value : x) value = value * 0.5f + 100;
  return x;
}

TEST_P(BatchNormConformanceTest, ForwardAndMoments) {
  const auto x = FarInput();
  const auto scale = RandomFloats(3, 2), shift = RandomFloats(3, 3);
  const Moments want = NaiveMoments(kShape, x);
  const DeviceArray dx(*backend_, x), dscale(*backend_, scale);
  const DeviceArray dshift(*backend_, shift);
  const DeviceArray mean(*backend_, 3), variance(*backend_, 3);
  const DeviceArray y(*backend_, kShape.size());
  backend_->BatchNormForward(kShape, dx.span(), dscale.span(), dshift.span(),
                             mean.span(), variance.span(), y.span());
  ExpectNear(mean.Host(), want.mean, 1e-5f);
  ExpectNear(variance.Host(), want.variance, 1e-4f);
  ExpectNear(y.Host(), NaiveNormalize(kShape, x, want, scale, shift), 1e-3f);
  backend_->BatchNormForward(WithRelu(), dx.span(), dscale.span(),
                             dshift.span(), mean.span(), variance.span(),
                             y.span());
  ExpectNear(y.Host(), NaiveNormalize(WithRelu(), x, want, scale, shift),
             1e-3f);

  const DeviceArray means(*backend_, 3, kNan), squares(*backend_, 3, kNan);
  backend_->BatchNormMoments(0.25f, mean.span(), variance.span(), 0,
                             means.span(), squares.span());
  backend_->BatchNormMoments(0.5f, mean.span(), variance.span(), 1,
                             means.span(), squares.span());
  std::vector<float> want_means(3), want_squares(3);
  for (int c = 0; c < 3; ++c) {
    const float m = want.mean[c];
    want_means[c] = 0.75f * m;
    want_squares[c] = 0.75f * (want.variance[c] + m * m);
  }
  ExpectNear(means.Host(), want_means, 1e-5f);
  ExpectNear(squares.Host(), want_squares, 1e-5f);
}

TEST_P(BatchNormConformanceTest, Inference) {
  const auto x = RandomFloats(kShape.size(), 1);
  const auto scale = RandomFloats(3, 2), shift = RandomFloats(3, 3);
  // In the last channel rounding has made the variance negative.
  const Moments moments{{0.5f, -1.0f, 2.0f}, {0.75f, 0.5f, 0.0f}};
  const std::vector<float> squares = {1.0f, 1.5f, 3.999f};
  const DeviceArray dx(*backend_, x), dscale(*backend_, scale);
  const DeviceArray dshift(*backend_, shift), mean(*backend_, moments.mean);
  const DeviceArray square(*backend_, squares);
  const DeviceArray y(*backend_, kShape.size());
  backend_->BatchNormInference(kShape, dx.span(), dscale.span(), dshift.span(),
                               mean.span(), square.span(), y.span());
  ExpectNear(y.Host(), NaiveNormalize(kShape, x, moments, scale, shift), 1e-4f);
  backend_->BatchNormInference(WithRelu(), dx.span(), dscale.span(),
                               dshift.span(), mean.span(), square.span(),
                               y.span());
  ExpectNear(y.Host(), NaiveNormalize(WithRelu(), x, moments, scale, shift),
             1e-4f);
}

// The gradient in the form of Ioffe and Szegedy 2015, section 3.
TEST_P(BatchNormConformanceTest, Backward) {
  const auto x = RandomFloats(kShape.size(), 1);
  const auto dy = RandomFloats(kShape.size(), 2), scale = RandomFloats(3, 3);
  const Moments moments = NaiveMoments(kShape, x);
  const auto xhat = NaiveNormalize(kShape, x, moments, {1, 1, 1}, {0, 0, 0});
  std::vector<double> sum(3), product(3);
  for (size_t i = 0; i < x.size(); ++i) {
    sum[i / kShape.inner] += dy[i];
    product[i / kShape.inner] += double{dy[i]} * xhat[i];
  }
  const auto count = static_cast<double>(kShape.inner);
  std::vector<float> want(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i / kShape.inner;
    want[i] = static_cast<float>(
        scale[c] / std::sqrt(moments.variance[c] + kShape.epsilon) *
        (dy[i] - sum[c] / count - xhat[i] * product[c] / count));
  }
  const DeviceArray device_x(*backend_, x), device_dy(*backend_, dy);
  const DeviceArray device_scale(*backend_, scale);
  const DeviceArray device_shift(*backend_, RandomFloats(3, 4));
  const DeviceArray mean(*backend_, moments.mean);
  const DeviceArray variance(*backend_, moments.variance);
  const DeviceArray dscale(*backend_, 3, 1), dshift(*backend_, 3, kNan);
  const DeviceArray dx(*backend_, kShape.size(), kNan);
  const auto run = [&](float beta) {
    backend_->BatchNormBackward(kShape, device_x.span(), device_scale.span(),
                                device_shift.span(), mean.span(),
                                variance.span(), device_dy.span(), beta,
                                dscale.span(), dshift.span(), dx.span());
  };
  run(0);
  ExpectNear(dx.Host(), want, 1e-4f);
  ExpectNear(dscale.Host(), {product.begin(), product.end()}, 1e-4f);
  ExpectNear(dshift.Host(), {sum.begin(), sum.end()}, 1e-4f);
  run(1);
  for (int c = 0; c < 3; ++c) product[c] *= 2, sum[c] *= 2;
  ExpectNear(dscale.Host(), {product.begin(), product.end()}, 1e-4f);
  ExpectNear(dshift.Host(), {sum.begin(), sum.end()}, 1e-4f);
}

// With its ReLU it is what batch norm without one makes of the gradient behind
// the ReLU, to the bit: no sign may be seen otherwise than forwards.
TEST_P(BatchNormConformanceTest, BackwardThroughTheRelu) {
  const DeviceArray x(*backend_, RandomFloats(kShape.size(), 1));
  const DeviceArray dy(*backend_, RandomFloats(kShape.size(), 2));
  const DeviceArray scale(*backend_, RandomFloats(3, 3));
  const DeviceArray shift(*backend_, RandomFloats(3, 4));
  const DeviceArray mean(*backend_, 3), variance(*backend_, 3);
  const DeviceArray y(*backend_, kShape.size());
  const DeviceArray masked(*backend_, kShape.size());
  backend_->BatchNormForward(WithRelu(), x.span(), scale.span(), shift.span(),
                             mean.span(), variance.span(), y.span());
  backend_->ReluBackward(y.span(), dy.span(), masked.span());
  struct Out {
    std::vector<float> dscale, dshift, dx;
    bool operator==(const Out&) const = default;
  };
  const auto run = [&](const BatchNormShape& shape, const DeviceArray& from) {
    const DeviceArray dscale(*backend_, 3), dshift(*backend_, 3);
    const DeviceArray dx(*backend_, kShape.size());
    backend_->BatchNormBackward(shape, x.span(), scale.span(), shift.span(),
                                mean.span(), variance.span(), from.span(), 0,
                                dscale.span(), dshift.span(), dx.span());
    return Out{dscale.Host(), dshift.Host(), dx.Host()};
  };
  EXPECT_EQ(run(WithRelu(), dy), run(kShape, masked));
}

}  // namespace
}  // namespace paceline
