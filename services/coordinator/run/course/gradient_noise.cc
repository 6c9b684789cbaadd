#include "services/coordinator/run/course/gradient_noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace paceline {
namespace {

constexpr double kSmoothing = 0.999;

template <class Update>
double MedianOf(const std::vector<Update>& updates,
                double GradientNoise::*what) {
  std::vector<double> values;
  values.reserve(updates.size());
  for (const Update& update : updates) values.push_back(update.noise.*what);
  const auto middle =
      values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

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
  if (const auto usual = mean()) return Count({samples, noise}, *usual);
  first_.push_back({samples, noise});
  if (static_cast<int64_t>(first_.size()) < kEnough) return;
  const GradientNoise usual{MedianOf(first_, &GradientNoise::square),
                            MedianOf(first_, &GradientNoise::variance)};
  for (const Update& update : std::exchange(first_, {})) Count(update, usual);
}

void SmoothedNoise::Count(const Update& update, const GradientNoise& usual) {
  const double kept = std::pow(kSmoothing, update.samples / batch_size_);
  // Where there was no noise there is no measure of it.
  const double variance = usual.variance > 0
                              ? kMost * usual.variance
                              : std::numeric_limits<double>::infinity();
  // Its noise is part of how large the mean of a batch looks.
  const double square =
      kMost * std::abs(usual.square) + variance / update.samples;
  const auto add = [kept](double& sum, double value, double most) {
    sum = kept * sum + (1 - kept) * std::clamp(value, -most, most);
  };
  add(sum_.square, update.noise.square, square);
  add(sum_.variance, update.noise.variance, variance);
  weight_ = kept * weight_ + (1 - kept);
}

std::optional<GradientNoise> SmoothedNoise::mean() const {
  if (weight_ == 0) return std::nullopt;
  return GradientNoise{sum_.square / weight_, sum_.variance / weight_};
}

}  // namespace paceline
