#include "services/coordinator/sync/paradigms/cgp/cgp_sums.h"

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

constexpr double kRounding = 1e-12;

}  // namespace

void CgpSums::Add(size_t size, double period) {
  const auto n = static_cast<double>(size);
  work_ += n * period;
  speed_ += n / period;
  squares_ += n * n;
  ++groups_;
}

void CgpSums::Remove(size_t size, double period) {
  const auto n = static_cast<double>(size);
  work_ -= n * period;
  speed_ -= n / period;
  squares_ -= n * n;
  --groups_;
}

bool CgpSums::BetterThan(const CgpSums& other) const {
  // D is a difference of two numbers of this size.
  const double scale = std::max(work_ * speed_, other.work_ * other.speed_);
  const double missed = Missed() - other.Missed();
  if (std::abs(missed) > kRounding * scale) return missed < 0;
  const double speed = speed_ - other.speed_;
  if (std::abs(speed) > kRounding * std::max(speed_, other.speed_)) {
    return speed > 0;
  }
  return groups_ < other.groups_;
}

double SpeedFloor(double beta, double alone) {
  return beta * alone * (1 - kRounding);
}

}  // namespace paceline
