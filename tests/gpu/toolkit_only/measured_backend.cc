#include "tests/gpu/toolkit_only/measured_backend.h"

#include <chrono>

#include "common/check.h"

namespace paceline {
namespace {

int64_t ConvOperations(const ConvShape& shape) {
  return 2 * shape.weight_size() * shape.out_plane();
}

}  // namespace

std::unique_ptr<RepeatedStep> MeasuredBackend::MakeRepeatedStep() {
  return std::make_unique<PlainStep>();
}

void MeasuredBackend::Measure(const char* kind, int64_t operations,
                              int64_t floats,
                              const std::function<void()>& run) {
  CHECK(inner_.Synchronize().ok());
  const auto began = std::chrono::steady_clock::now();
  run();
  CHECK(inner_.Synchronize().ok());
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - began;
  Cost& cost = costs_[kind];
  ++cost.calls;
  cost.seconds += took.count();
  cost.operations += static_cast<double>(operations);
  cost.bytes += static_cast<double>(floats) * sizeof(float);
}

void MeasuredBackend::Fill(float value, DeviceSpan y) {
  Measure("elementwise", 0, y.size, [&] { inner_.Fill(value, y); });
}

void MeasuredBackend::Copy(DeviceView x, DeviceSpan y) {
  Measure("elementwise", 0, 2 * y.size, [&] { inner_.Copy(x, y); });
}

void MeasuredBackend::Axpy(float alpha, DeviceView x, DeviceSpan y) {
  Measure("elementwise", 0, 3 * y.size, [&] { inner_.Axpy(alpha, x, y); });
}

void MeasuredBackend::Scale(float alpha, DeviceSpan y) {
  Measure("elementwise", 0, 2 * y.size, [&] { inner_.Scale(alpha, y); });
}

void MeasuredBackend::Pack(DType dtype, DeviceView x, DeviceSpan packed) {
  Measure("pack", 0, x.size + packed.size,
          [&] { inner_.Pack(dtype, x, packed); });
}

void MeasuredBackend::Gemm(const GemmShape& shape, float alpha, DeviceView a,
                           DeviceView b, float beta, DeviceSpan c) {
  Measure("matrix product", 2 * shape.m * shape.n * shape.k,
          a.size + b.size + c.size,
          [&] { inner_.Gemm(shape, alpha, a, b, beta, c); });
}

void MeasuredBackend::AddBias(const BiasShape& shape, DeviceView bias,
                              DeviceSpan y) {
  Measure("bias", 0, 2 * y.size, [&] { inner_.AddBias(shape, bias, y); });
}

void MeasuredBackend::ReduceBias(const BiasShape& shape, DeviceView dy,
                                 float beta, DeviceSpan dbias) {
  Measure("bias", 0, dy.size,
          [&] { inner_.ReduceBias(shape, dy, beta, dbias); });
}

void MeasuredBackend::ConvForward(const ConvShape& shape, DeviceView x,
                                  DeviceView weights, DeviceView bias,
                                  DeviceSpan y) {
  Measure("convolution", ConvOperations(shape), x.size + weights.size + y.size,
          [&] { inner_.ConvForward(shape, x, weights, bias, y); });
}

void MeasuredBackend::ConvBackwardWeights(const ConvShape& shape, DeviceView x,
                                          DeviceView dy, float beta,
                                          DeviceSpan dweights) {
  Measure("convolution, weights", ConvOperations(shape),
          x.size + dy.size + dweights.size,
          [&] { inner_.ConvBackwardWeights(shape, x, dy, beta, dweights); });
}

void MeasuredBackend::ConvBackwardData(const ConvShape& shape,
                                       DeviceView weights, DeviceView dy,
                                       DeviceSpan dx) {
  Measure("convolution, input", ConvOperations(shape),
          weights.size + dy.size + dx.size,
          [&] { inner_.ConvBackwardData(shape, weights, dy, dx); });
}

void MeasuredBackend::MaxPoolForward(const PoolShape& shape, DeviceView x,
                                     DeviceSpan y) {
  Measure("pool", 0, x.size + y.size,
          [&] { inner_.MaxPoolForward(shape, x, y); });
}

void MeasuredBackend::MaxPoolBackward(const PoolShape& shape, DeviceView x,
                                      DeviceView dy, DeviceSpan dx) {
  Measure("pool", 0, x.size + dy.size + dx.size,
          [&] { inner_.MaxPoolBackward(shape, x, dy, dx); });
}

void MeasuredBackend::AvgPoolForward(const PoolShape& shape, DeviceView x,
                                     DeviceSpan y) {
  Measure("pool", 0, x.size + y.size,
          [&] { inner_.AvgPoolForward(shape, x, y); });
}

void MeasuredBackend::AvgPoolBackward(const PoolShape& shape, DeviceView dy,
                                      DeviceSpan dx) {
  Measure("pool", 0, dy.size + dx.size,
          [&] { inner_.AvgPoolBackward(shape, dy, dx); });
}

void MeasuredBackend::ReluForward(DeviceView x, DeviceSpan y) {
  Measure("relu", 0, x.size + y.size, [&] { inner_.ReluForward(x, y); });
}

void MeasuredBackend::ReluBackward(DeviceView y, DeviceView dy, DeviceSpan dx) {
  Measure("relu", 0, y.size + dy.size + dx.size,
          [&] { inner_.ReluBackward(y, dy, dx); });
}

void MeasuredBackend::BatchNormForward(const BatchNormShape& shape,
                                       DeviceView x, DeviceView scale,
                                       DeviceView shift, DeviceSpan mean,
                                       DeviceSpan variance, DeviceSpan y) {
  Measure("batch norm", 0, 2 * x.size + y.size, [&] {
    inner_.BatchNormForward(shape, x, scale, shift, mean, variance, y);
  });
}

void MeasuredBackend::BatchNormInference(const BatchNormShape& shape,
                                         DeviceView x, DeviceView scale,
                                         DeviceView shift, DeviceView mean,
                                         DeviceView mean_square, DeviceSpan y) {
  Measure("batch norm", 0, x.size + y.size, [&] {
    inner_.BatchNormInference(shape, x, scale, shift, mean, mean_square, y);
  });
}

void MeasuredBackend::BatchNormBackward(const BatchNormShape& shape,
                                        DeviceView x, DeviceView scale,
                                        DeviceView shift, DeviceView mean,
                                        DeviceView variance, DeviceView dy,
                                        float beta, DeviceSpan dscale,
                                        DeviceSpan dshift, DeviceSpan dx) {
  Measure("batch norm, backward", 0, 2 * x.size + 2 * dy.size + dx.size, [&] {
    inner_.BatchNormBackward(shape, x, scale, shift, mean, variance, dy, beta,
                             dscale, dshift, dx);
  });
}

void MeasuredBackend::BatchNormMoments(float weight, DeviceView mean,
                                       DeviceView variance, float beta,
                                       DeviceSpan mean_sum,
                                       DeviceSpan mean_square_sum) {
  Measure("batch norm, backward", 0, 4 * mean.size, [&] {
    inner_.BatchNormMoments(weight, mean, variance, beta, mean_sum,
                            mean_square_sum);
  });
}

void MeasuredBackend::SwapLeading(int64_t first, int64_t second, int64_t inner,
                                  DeviceView x, DeviceSpan y) {
  Measure("layout", 0, x.size + y.size,
          [&] { inner_.SwapLeading(first, second, inner, x, y); });
}

void MeasuredBackend::AddShortcut(const ShortcutShape& shape, DeviceView x,
                                  DeviceSpan y) {
  Measure("shortcut", 0, x.size + 2 * y.size,
          [&] { inner_.AddShortcut(shape, x, y); });
}

void MeasuredBackend::AddShortcutGradient(const ShortcutShape& shape,
                                          DeviceView dy, DeviceSpan dx) {
  Measure("shortcut", 0, dy.size + 2 * dx.size,
          [&] { inner_.AddShortcutGradient(shape, dy, dx); });
}

void MeasuredBackend::SoftmaxCrossEntropy(const LossShape& shape,
                                          DeviceView logits, DeviceView labels,
                                          float scale, DeviceSpan dlogits,
                                          DeviceSpan loss, DeviceSpan correct) {
  Measure("loss", 0, 2 * logits.size, [&] {
    inner_.SoftmaxCrossEntropy(shape, logits, labels, scale, dlogits, loss,
                               correct);
  });
}

void MeasuredBackend::ApplySgd(const SgdStep& step, DeviceView gradient,
                               DeviceSpan velocity, DeviceSpan weights) {
  Measure("sgd", 0, gradient.size + 2 * velocity.size + 2 * weights.size,
          [&] { inner_.ApplySgd(step, gradient, velocity, weights); });
}

}  // namespace paceline
