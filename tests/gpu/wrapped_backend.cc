#include "tests/gpu/wrapped_backend.h"

namespace paceline {
namespace {

int64_t ConvOperations(const ConvShape& shape) {
  return 2 * shape.weight_size() * shape.out_plane();
}

}  // namespace

void WrappedBackend::Fill(float value, DeviceSpan y) {
  Operate({"elementwise", 0, y.size}, [=](Backend& on) { on.Fill(value, y); });
}

void WrappedBackend::Copy(DeviceView x, DeviceSpan y) {
  Operate({"elementwise", 0, 2 * y.size}, [=](Backend& on) { on.Copy(x, y); });
}

void WrappedBackend::Axpy(float alpha, DeviceView x, DeviceSpan y) {
  Operate({"elementwise", 0, 3 * y.size},
          [=](Backend& on) { on.Axpy(alpha, x, y); });
}

void WrappedBackend::Scale(float alpha, DeviceSpan y) {
  Operate({"elementwise", 0, 2 * y.size},
          [=](Backend& on) { on.Scale(alpha, y); });
}

void WrappedBackend::Pack(DType dtype, DeviceView x, DeviceSpan packed) {
  Operate({"pack", 0, x.size + packed.size},
          [=](Backend& on) { on.Pack(dtype, x, packed); });
}

void WrappedBackend::Gemm(const GemmShape& shape, float alpha, DeviceView a,
                          DeviceView b, float beta, DeviceSpan c) {
  Operate({"matrix product", 2 * shape.m * shape.n * shape.k,
           a.size + b.size + c.size},
          [=](Backend& on) { on.Gemm(shape, alpha, a, b, beta, c); });
}

void WrappedBackend::AddBias(const BiasShape& shape, DeviceView bias,
                             DeviceSpan y) {
  Operate({"bias", 0, 2 * y.size},
          [=](Backend& on) { on.AddBias(shape, bias, y); });
}

void WrappedBackend::ReduceBias(const BiasShape& shape, DeviceView dy,
                                float beta, DeviceSpan dbias) {
  Operate({"bias", 0, dy.size},
          [=](Backend& on) { on.ReduceBias(shape, dy, beta, dbias); });
}

void WrappedBackend::ConvForward(const ConvShape& shape, DeviceView x,
                                 DeviceView weights, DeviceView bias,
                                 DeviceSpan y) {
  Operate(
      {"convolution", ConvOperations(shape), x.size + weights.size + y.size},
      [=](Backend& on) { on.ConvForward(shape, x, weights, bias, y); });
}

void WrappedBackend::ConvBackwardWeights(const ConvShape& shape, DeviceView x,
                                         DeviceView dy, float beta,
                                         DeviceSpan dweights) {
  Operate({"convolution, weights", ConvOperations(shape),
           x.size + dy.size + dweights.size},
          [=](Backend& on) {
            on.ConvBackwardWeights(shape, x, dy, beta, dweights);
          });
}

void WrappedBackend::ConvBackwardData(const ConvShape& shape,
                                      DeviceView weights, DeviceView dy,
                                      DeviceSpan dx) {
  Operate({"convolution, input", ConvOperations(shape),
           weights.size + dy.size + dx.size},
          [=](Backend& on) { on.ConvBackwardData(shape, weights, dy, dx); });
}

void WrappedBackend::MaxPoolForward(const PoolShape& shape, DeviceView x,
                                    DeviceSpan y) {
  Operate({"pool", 0, x.size + y.size},
          [=](Backend& on) { on.MaxPoolForward(shape, x, y); });
}

void WrappedBackend::MaxPoolBackward(const PoolShape& shape, DeviceView x,
                                     DeviceView dy, DeviceSpan dx) {
  Operate({"pool", 0, x.size + dy.size + dx.size},
          [=](Backend& on) { on.MaxPoolBackward(shape, x, dy, dx); });
}

void WrappedBackend::AvgPoolForward(const PoolShape& shape, DeviceView x,
                                    DeviceSpan y) {
  Operate({"pool", 0, x.size + y.size},
          [=](Backend& on) { on.AvgPoolForward(shape, x, y); });
}

void WrappedBackend::AvgPoolBackward(const PoolShape& shape, DeviceView dy,
                                     DeviceSpan dx) {
  Operate({"pool", 0, dy.size + dx.size},
          [=](Backend& on) { on.AvgPoolBackward(shape, dy, dx); });
}

void WrappedBackend::ReluForward(DeviceView x, DeviceSpan y) {
  Operate({"relu", 0, x.size + y.size},
          [=](Backend& on) { on.ReluForward(x, y); });
}

void WrappedBackend::ReluBackward(DeviceView y, DeviceView dy, DeviceSpan dx) {
  Operate({"relu", 0, y.size + dy.size + dx.size},
          [=](Backend& on) { on.ReluBackward(y, dy, dx); });
}

void WrappedBackend::BatchNormForward(const BatchNormShape& shape, DeviceView x,
                                      DeviceView scale, DeviceView shift,
                                      DeviceSpan mean, DeviceSpan variance,
                                      DeviceSpan y) {
  Operate({"batch norm", 0, 2 * x.size + y.size}, [=](Backend& on) {
    on.BatchNormForward(shape, x, scale, shift, mean, variance, y);
  });
}

void WrappedBackend::BatchNormInference(const BatchNormShape& shape,
                                        DeviceView x, DeviceView scale,
                                        DeviceView shift, DeviceView mean,
                                        DeviceView mean_square, DeviceSpan y) {
  Operate({"batch norm", 0, x.size + y.size}, [=](Backend& on) {
    on.BatchNormInference(shape, x, scale, shift, mean, mean_square, y);
  });
}

void WrappedBackend::BatchNormBackward(const BatchNormShape& shape,
                                       DeviceView x, DeviceView scale,
                                       DeviceView shift, DeviceView mean,
                                       DeviceView variance, DeviceView dy,
                                       float beta, DeviceSpan dscale,
                                       DeviceSpan dshift, DeviceSpan dx) {
  Operate({"batch norm, backward", 0, 2 * x.size + 2 * dy.size + dx.size},
          [=](Backend& on) {
            on.BatchNormBackward(shape, x, scale, shift, mean, variance, dy,
                                 beta, dscale, dshift, dx);
          });
}

void WrappedBackend::BatchNormMoments(float weight, DeviceView mean,
                                      DeviceView variance, float beta,
                                      DeviceSpan mean_sum,
                                      DeviceSpan mean_square_sum) {
  Operate({"batch norm, backward", 0, 4 * mean.size}, [=](Backend& on) {
    on.BatchNormMoments(weight, mean, variance, beta, mean_sum,
                        mean_square_sum);
  });
}

void WrappedBackend::SwapLeading(int64_t first, int64_t second, int64_t inner,
                                 DeviceView x, DeviceSpan y) {
  Operate({"layout", 0, x.size + y.size},
          [=](Backend& on) { on.SwapLeading(first, second, inner, x, y); });
}

void WrappedBackend::AddShortcut(const ShortcutShape& shape, DeviceView x,
                                 DeviceSpan y) {
  Operate({"shortcut", 0, x.size + 2 * y.size},
          [=](Backend& on) { on.AddShortcut(shape, x, y); });
}

void WrappedBackend::AddShortcutGradient(const ShortcutShape& shape,
                                         DeviceView dy, DeviceSpan dx) {
  Operate({"shortcut", 0, dy.size + 2 * dx.size},
          [=](Backend& on) { on.AddShortcutGradient(shape, dy, dx); });
}

void WrappedBackend::SoftmaxCrossEntropy(const LossShape& shape,
                                         DeviceView logits, DeviceView labels,
                                         float scale, DeviceSpan dlogits,
                                         DeviceSpan loss, DeviceSpan correct) {
  Operate({"loss", 0, 2 * logits.size}, [=](Backend& on) {
    on.SoftmaxCrossEntropy(shape, logits, labels, scale, dlogits, loss,
                           correct);
  });
}

void WrappedBackend::ApplySgd(const SgdStep& step, DeviceView gradient,
                              DeviceSpan velocity, DeviceSpan weights) {
  Operate({"sgd", 0, gradient.size + 2 * velocity.size + 2 * weights.size},
          [=](Backend& on) { on.ApplySgd(step, gradient, velocity, weights); });
}

}  // namespace paceline
