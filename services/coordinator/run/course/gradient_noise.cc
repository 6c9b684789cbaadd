#include "services/coordinator/run/course/gradient_noise.h"

#include <cmath>

namespace paceline {
namespace {

constexpr double kSmoothing = 0.999;

}  // namespace

std::optional<GradientNoise> EstimateNoise(
    absl::Span<const MeasuredGradient> gradients, double mean_square) {
  if (gradients.size() < 2) return std::nullopt;
  double samples = 0;
  double squares = 0;
  for (const MeasuredGradient& gradient : gradients) {
    if (!(gradient.samples > 0)) return std::nullopt;
    samples += gradient.samples;
    squares += gradient.samples * gradient.square;
  }
  const double variance = (squares - samples * mean_square) /
                          (static_cast<double>(gradients.size()) - 1);
  const GradientNoise noise{mean_square - variance / samples, variance};
  if (!std::isfinite(noise.square) || !std::isfinite(noise.variance)) {
    return std::nullopt;
  }
  return noise;
}

void SmoothedNoise::Add(double samples, const GradientNoise& noise) {
  const double kept = std::pow(kSmoothing, samples / batch_size_);
  ++updates_;
  weight_ = kept * weight_ + (1 - kept);
  sum_.square = kept * sum_.square + (1 - kept) * noise.square;
  sum_.variance = kept * sum_.variance + (1 - kept) * noise.variance;
}

std::optional<GradientNoise> SmoothedNoise::mean() const {
  if (updates_ < kEnough) return std::nullopt;
  return GradientNoise{sum_.square / weight_, sum_.variance / weight_};
}

}  // namespace paceline
