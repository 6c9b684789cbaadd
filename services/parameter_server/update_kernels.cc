#include "services/parameter_server/update_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

// Before a loop whose iterations touch only their own elements, which the
// compiler cannot see where an array may be read and written under two names:
// without it the update in place would fall back to one element at a time.
#if defined(__clang__)
#define PACELINE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define PACELINE_INDEPENDENT _Pragma("GCC ivdep")
#else
#define PACELINE_INDEPENDENT
#endif

namespace paceline {
namespace {

// Of DC-ASGD-a, as published.
constexpr float kMeanSquareEpsilon = 1e-7f;

// Sums that do not wait for each other, so that they can be vectors.
constexpr size_t kSums = 16;

float Load(const char* floats, size_t i) {
  float value;
  std::memcpy(&value, floats + i * sizeof(float), sizeof(float));
  return value;
}

}  // namespace

void SgdUpdate(const SgdTerms& terms, const char* gradient, size_t count,
               StateIn in, StateOut out) {
  const SgdTerms t = terms;  // A store might change `terms`, not a local.
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float w = in.weights[i];
    out.weights[i] =
        w - t.rate * (t.gradient * Load(gradient, i) + t.decay * w);
  }
}

void MomentumUpdate(const SgdTerms& terms, const char* gradient, size_t count,
                    StateIn in, StateOut out) {
  const SgdTerms t = terms;
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float w = in.weights[i];
    const float d = t.gradient * Load(gradient, i) + t.decay * w;
    const float v = t.momentum * in.first[i] + d;
    out.first[i] = v;
    out.weights[i] = w - t.rate * v;
  }
}

void NesterovUpdate(const SgdTerms& terms, const char* gradient, size_t count,
                    StateIn in, StateOut out) {
  const SgdTerms t = terms;
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float w = in.weights[i];
    const float d = t.gradient * Load(gradient, i) + t.decay * w;
    const float v = t.momentum * in.first[i] + d;
    out.first[i] = v;
    out.weights[i] = w - t.rate * (d + t.momentum * v);
  }
}

void GatherForNesterov(const SgdTerms& terms, float share, const char* gradient,
                       size_t count, StateIn in, StateOut out) {
  const SgdTerms t = terms;
  const float rate = t.rate * share;
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float w = in.weights[i];
    const float d = t.gradient * Load(gradient, i) + t.decay * w;
    out.first[i] = in.first[i];
    out.second[i] = in.second[i] + d;
    out.weights[i] = w - rate * d;
  }
}

void DelayedNesterovUpdate(const SgdTerms& terms, float share,
                           const char* gradient, size_t count, StateIn in,
                           StateOut out) {
  const SgdTerms t = terms;
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float w = in.weights[i];
    const float d = t.gradient * Load(gradient, i) + t.decay * w;
    const float v = t.momentum * in.first[i] + share * (in.second[i] + d);
    out.first[i] = v;
    out.second[i] = 0;
    out.weights[i] = w - t.rate * (share * d + t.momentum * v);
  }
}

void AdamUpdate(const AdamTerms& terms, const char* gradient, size_t count,
                StateIn in, StateOut out) {
  const AdamTerms t = terms;
  const float new1 = 1.0f - t.beta1;
  const float new2 = 1.0f - t.beta2;
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float w = in.weights[i];
    const float d = t.gradient * Load(gradient, i) + t.coupled_decay * w;
    const float m = t.beta1 * in.first[i] + new1 * d;
    const float v = t.beta2 * in.second[i] + new2 * d * d;
    out.first[i] = m;
    out.second[i] = v;
    const float scale = std::sqrt(t.correction * v) + t.epsilon;
    out.weights[i] = t.keep * w - t.step * m / scale;
  }
}

void StatisticUpdate(float fraction, float scale, const char* x, size_t count,
                     StateIn in, StateOut out) {
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float stat = in.weights[i];
    out.weights[i] = stat + fraction * (scale * Load(x, i) - stat);
  }
}

void ReplaceValues(float scale, const char* x, size_t count, StateOut out) {
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) out.weights[i] = scale * Load(x, i);
}

void CompensateDelay(float lambda, const float* now, const float* then,
                     size_t count, float* gradient) {
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    gradient[i] = g + lambda * g * g * (now[i] - then[i]);
  }
}

void UpdateMeanSquare(float memory, const float* gradient, size_t count,
                      float* mean) {
  const float share = 1.0f - memory;
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float square =
        std::min(gradient[i] * gradient[i], std::numeric_limits<float>::max());
    mean[i] = memory * mean[i] + share * square;
  }
}

void CompensateDelayAdaptively(float lambda, const float* now,
                               const float* then, const float* mean_square,
                               size_t count, float* gradient) {
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    const float scaled =
        lambda / std::sqrt(mean_square[i] + kMeanSquareEpsilon);
    gradient[i] = g + scaled * g * g * (now[i] - then[i]);
  }
}

void AddAlignment(const char* gradient, const float* momentum, size_t count,
                  AlignmentSums& sums) {
  // As doubles: no square of a float is too large or too small for one.
  std::array<double, kSums> dot = {};
  std::array<double, kSums> of_gradient = {};
  std::array<double, kSums> of_momentum = {};
  const auto add = [&](size_t i, size_t k) {
    const double g = Load(gradient, i);
    const double v = momentum[i];
    dot[k] += g * v;
    of_gradient[k] += g * g;
    of_momentum[k] += v * v;
  };
  size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (size_t k = 0; k < kSums; ++k) add(i + k, k);
  }
  for (; i < count; ++i) add(i, 0);
  for (size_t k = 0; k < kSums; ++k) {
    sums.dot += dot[k];
    sums.gradient_square += of_gradient[k];
    sums.momentum_square += of_momentum[k];
  }
}

void TurnGradient(float keep, float along, const char* gradient,
                  const float* momentum, size_t count, float* turned) {
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    turned[i] = keep * Load(gradient, i) + along * momentum[i];
  }
}

void BeginSum(float factor, const char* gradient, size_t count, float* sum) {
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) sum[i] = factor * Load(gradient, i);
}

void AddToSum(float factor, const char* gradient, size_t count, float* sum) {
  PACELINE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) sum[i] += factor * Load(gradient, i);
}

}  // namespace paceline
