#include "services/coordinator/accuracy.h"

#include <cstddef>

namespace paceline {

std::optional<double> SecondsToTarget(const std::vector<AccuracyPoint>& points,
                                      double target) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].accuracy < target) continue;
    if (i + 1 < points.size() && points[i + 1].accuracy < target) continue;
    if (i == 0) return points[0].seconds;
    const AccuracyPoint& below = points[i - 1];
    const AccuracyPoint& above = points[i];
    const double share =
        (target - below.accuracy) / (above.accuracy - below.accuracy);
    return below.seconds + share * (above.seconds - below.seconds);
  }
  return std::nullopt;
}

bool TargetReached(const std::vector<AccuracyPoint>& points, double target) {
  for (size_t i = 1; i < points.size(); ++i) {
    if (points[i - 1].accuracy >= target && points[i].accuracy >= target) {
      return true;
    }
  }
  return false;
}

bool LossReached(const std::vector<AccuracyPoint>& points, double target) {
  for (size_t i = 1; i < points.size(); ++i) {
    if (points[i - 1].loss <= target && points[i].loss <= target) return true;
  }
  return false;
}

}  // namespace paceline
