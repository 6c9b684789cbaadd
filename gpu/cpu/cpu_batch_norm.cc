#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "gpu/cpu/activate.h"
#include "gpu/cpu/cpu_backend.h"
#include "gpu/cpu/reduce.h"

namespace paceline {
namespace {

float InverseDeviation(float variance, float epsilon) {
  return 1.0f / std::sqrt(variance + epsilon);
}

// y = activation(factor * x + offset): what normalizes and what scales, folded.
struct Affine {
  float factor;
  float offset;

  float operator()(float x) const { return factor * x + offset; }
};

Affine FoldedAffine(float scale, float shift, float mean, float variance,
                    float epsilon) {
  const float factor = scale * InverseDeviation(variance, epsilon);
  return {factor, shift - factor * mean};
}

void Apply(const BatchNormShape& shape, const Affine& affine, const float* x,
           float* y) {
  WithActivation(shape.activation, [&]<Activation activation>() {
    for (int64_t i = 0; i < shape.inner; ++i) {
      y[i] = Activate<activation>(affine(x[i]));
    }
  });
}

// One channel of a backward pass.
struct ChannelOf {
  const float* x;
  const float* dy;
  Affine forward;
  float mean;
  float inverse;  // 1 / standard deviation.
};

struct Gradients {
  float scale;
  float shift;
};

// dx = scale * inverse * (g - mean(g) - xhat * mean(g * xhat)), Ioffe and
// Szegedy 2015, section 3, of g = dy behind the activation.
template <Activation activation>
Gradients Backward(int64_t count, const ChannelOf& channel, float* dx) {
  const auto gradient = [&channel](int64_t i) {
    return Passed<activation>(channel.forward(channel.x[i]), channel.dy[i]);
  };
  const float share = 1.0f / static_cast<float>(count);
  const float sum = SumOf(count, gradient);
  const float product = channel.inverse * SumOf(count, [&](int64_t i) {
                          return gradient(i) * (channel.x[i] - channel.mean);
                        });
  const float factor = channel.forward.factor;
  const float slope = -factor * share * product * channel.inverse;
  const float offset = -factor * share * sum - slope * channel.mean;
  for (int64_t i = 0; i < count; ++i) {
    dx[i] = factor * gradient(i) + (slope * channel.x[i] + offset);
  }
  return {product, sum};
}

}  // namespace

void CpuBackend::BatchNormForward(const BatchNormShape& shape, DeviceView x,
                                  DeviceView scale, DeviceView shift,
                                  DeviceSpan mean, DeviceSpan variance,
                                  DeviceSpan y) {
  CHECK(x.size == shape.size() && y.size == shape.size());
  CHECK(scale.size == shape.channels && shift.size == shape.channels);
  CHECK(mean.size == shape.channels && variance.size == shape.channels);
  const float share = 1.0f / static_cast<float>(shape.inner);
  for (int64_t c = 0; c < shape.channels; ++c) {
    const float* in = x.data + c * shape.inner;
    const float m =
        share * SumOf(shape.inner, [in](int64_t i) { return in[i]; });
    // A second pass about the mean: E[x^2] - mean^2 would cancel.
    const float v = share * SumOf(shape.inner, [in, m](int64_t i) {
                      return (in[i] - m) * (in[i] - m);
                    });
    mean.data[c] = m;
    variance.data[c] = v;
    Apply(shape,
          FoldedAffine(scale.data[c], shift.data[c], m, v, shape.epsilon), in,
          y.data + c * shape.inner);
  }
}

void CpuBackend::BatchNormInference(const BatchNormShape& shape, DeviceView x,
                                    DeviceView scale, DeviceView shift,
                                    DeviceView mean, DeviceView mean_square,
                                    DeviceSpan y) {
  CHECK(x.size == shape.size() && y.size == shape.size());
  CHECK(scale.size == shape.channels && shift.size == shape.channels);
  CHECK(mean.size == shape.channels && mean_square.size == shape.channels);
  for (int64_t c = 0; c < shape.channels; ++c) {
    const float m = mean.data[c];
    // Rounding can make the difference of two averages slightly negative.
    const float v = std::max(mean_square.data[c] - m * m, 0.0f);
    Apply(shape,
          FoldedAffine(scale.data[c], shift.data[c], m, v, shape.epsilon),
          x.data + c * shape.inner, y.data + c * shape.inner);
  }
}

void CpuBackend::BatchNormBackward(const BatchNormShape& shape, DeviceView x,
                                   DeviceView scale, DeviceView shift,
                                   DeviceView mean, DeviceView variance,
                                   DeviceView dy, float beta, DeviceSpan dscale,
                                   DeviceSpan dshift, DeviceSpan dx) {
  CHECK(x.size == shape.size() && dy.size == x.size && dx.size == x.size);
  CHECK(scale.size == shape.channels && shift.size == shape.channels);
  CHECK(dscale.size == shape.channels && dshift.size == shape.channels);
  for (int64_t c = 0; c < shape.channels; ++c) {
    const ChannelOf channel{
        .x = x.data + c * shape.inner,
        .dy = dy.data + c * shape.inner,
        .forward = FoldedAffine(scale.data[c], shift.data[c], mean.data[c],
                                variance.data[c], shape.epsilon),
        .mean = mean.data[c],
        .inverse = InverseDeviation(variance.data[c], shape.epsilon)};
    WithActivation(shape.activation, [&]<Activation activation>() {
      const Gradients own =
          Backward<activation>(shape.inner, channel, dx.data + c * shape.inner);
      dshift.data[c] = Accumulated(beta, dshift.data[c], own.shift);
      dscale.data[c] = Accumulated(beta, dscale.data[c], own.scale);
    });
  }
}

void CpuBackend::BatchNormMoments(float weight, DeviceView mean,
                                  DeviceView variance, float beta,
                                  DeviceSpan mean_sum,
                                  DeviceSpan mean_square_sum) {
  CHECK(mean.size == variance.size && mean.size == mean_sum.size);
  CHECK(mean.size == mean_square_sum.size);
  for (int64_t c = 0; c < mean.size; ++c) {
    const float m = mean.data[c];
    const float square = variance.data[c] + m * m;
    mean_sum.data[c] = Accumulated(beta, mean_sum.data[c], weight * m);
    mean_square_sum.data[c] =
        Accumulated(beta, mean_square_sum.data[c], weight * square);
  }
}

}  // namespace paceline
