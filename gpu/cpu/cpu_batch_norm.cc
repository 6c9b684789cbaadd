#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "gpu/cpu/cpu_backend.h"
#include "gpu/cpu/reduce.h"

namespace paceline {
namespace {

float InverseDeviation(float variance, float epsilon) {
  return 1.0f / std::sqrt(variance + epsilon);
}

// y = factor * x + offset, with what normalizes and what scales folded.
void Affine(int64_t count, float factor, float offset, const float* x,
            float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = factor * x[i] + offset;
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
    const float factor = scale.data[c] * InverseDeviation(v, shape.epsilon);
    Affine(shape.inner, factor, shift.data[c] - factor * m, in,
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
    const float factor = scale.data[c] * InverseDeviation(v, shape.epsilon);
    Affine(shape.inner, factor, shift.data[c] - factor * m,
           x.data + c * shape.inner, y.data + c * shape.inner);
  }
}

void CpuBackend::BatchNormBackward(const BatchNormShape& shape, DeviceView x,
                                   DeviceView scale, DeviceView mean,
                                   DeviceView variance, DeviceView dy,
                                   float beta, DeviceSpan dscale,
                                   DeviceSpan dshift, DeviceSpan dx) {
  CHECK(x.size == shape.size() && dy.size == x.size && dx.size == x.size);
  CHECK(dscale.size == shape.channels && dshift.size == shape.channels);
  const float share = 1.0f / static_cast<float>(shape.inner);
  for (int64_t c = 0; c < shape.channels; ++c) {
    const float* in = x.data + c * shape.inner;
    const float* gradient = dy.data + c * shape.inner;
    float* out = dx.data + c * shape.inner;
    const float m = mean.data[c];
    const float inverse = InverseDeviation(variance.data[c], shape.epsilon);
    const float sum =
        SumOf(shape.inner, [gradient](int64_t i) { return gradient[i]; });
    const float product =
        inverse * SumOf(shape.inner, [gradient, in, m](int64_t i) {
          return gradient[i] * (in[i] - m);
        });
    dshift.data[c] = Accumulated(beta, dshift.data[c], sum);
    dscale.data[c] = Accumulated(beta, dscale.data[c], product);
    // dx = scale * inverse * (dy - mean(dy) - xhat * mean(dy * xhat)).
    const float factor = scale.data[c] * inverse;
    const float slope = -factor * share * product * inverse;
    const float offset = -factor * share * sum - slope * m;
    for (int64_t i = 0; i < shape.inner; ++i) {
      out[i] = factor * gradient[i] + (slope * in[i] + offset);
    }
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
