#include "services/coordinator/sync/paradigms/adaptive_k.h"

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

// Of a new loss in the mean: that of about the last 50.
constexpr double kSmoothing = 0.02;

}  // namespace

void AdaptiveK::Pushed(std::optional<double> loss) {
  if (!loss.has_value()) return;
  if (losses_ < k_.k) {
    ++losses_;
    first_ += (*loss - first_) / static_cast<double>(losses_);
    now_ = first_;
    return;
  }
  now_ += kSmoothing * (*loss - now_);
}

std::optional<double> AdaptiveK::Fallen() const {
  if (losses_ < k_.k) return std::nullopt;
  const double first = k_.first_loss.value_or(first_);
  const double fallen = first / std::max(now_, 0.0);
  // The rule is for losses above 0. A mean of huge ones may be no number.
  if (!(first > 0) || std::isnan(fallen)) return std::nullopt;
  return fallen;
}

int64_t AdaptiveK::Of(int64_t workers) const {
  if (!k_.adaptive || k_.k >= workers) return k_.k;
  const std::optional<double> fallen = Fallen();
  if (!fallen.has_value()) return k_.k;
  const auto p = static_cast<double>(workers);
  const auto k0 = static_cast<double>(k_.k);
  double k = 0;
  switch (time_) {
    case UpdateTime::kLastOfWorkers: {
      // The positive root of k^2 + c k - c p, written so that any c does.
      const double c = k0 * k0 / (p - k0) * *fallen;
      k = 2 * p / (1 + std::sqrt(1 + 4 * p / c));
      break;
    }
    case UpdateTime::kInProportion:
      k = k0 * std::sqrt(*fallen);
      break;
  }
  return std::llround(std::clamp(k, k0, p));
}

}  // namespace paceline
