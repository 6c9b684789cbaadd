#include "services/coordinator/accuracy.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace paceline {
namespace {

bool Reached(const AccuracyPoint& point, const MetricTarget& target) {
  const std::optional<double> measured = MetricOf(point, target.metric);
  return measured.has_value() && target.ReachedBy(*measured);
}

}  // namespace

std::optional<double> MetricOf(const AccuracyPoint& point,
                               absl::string_view metric) {
  if (metric == kAccuracyMetric) return point.accuracy;
  if (metric == kLossMetric) return point.loss;
  const auto found = point.metrics.find(std::string(metric));
  if (found == point.metrics.end()) return std::nullopt;
  return found->second;
}

void InsertBySeconds(std::vector<AccuracyPoint>& points, AccuracyPoint point) {
  const auto later = std::ranges::upper_bound(points, point.seconds, {},
                                              &AccuracyPoint::seconds);
  points.insert(later, std::move(point));
}

std::optional<double> SecondsToTarget(const std::vector<AccuracyPoint>& points,
                                      const MetricTarget& target) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (!Reached(points[i], target)) continue;
    if (i + 1 < points.size() && !Reached(points[i + 1], target)) continue;
    const AccuracyPoint& after = points[i];
    if (i == 0) return after.seconds;
    const AccuracyPoint& before = points[i - 1];
    const std::optional<double> from = MetricOf(before, target.metric);
    // Reached before too, but by a point alone; or not measured there.
    if (!from.has_value() || target.ReachedBy(*from)) return after.seconds;
    const double to = *MetricOf(after, target.metric);
    const double share = (target.value - *from) / (to - *from);
    return before.seconds + share * (after.seconds - before.seconds);
  }
  return std::nullopt;
}

bool TargetReached(const std::vector<AccuracyPoint>& points,
                   const MetricTarget& target) {
  for (size_t i = 1; i < points.size(); ++i) {
    if (Reached(points[i - 1], target) && Reached(points[i], target)) {
      return true;
    }
  }
  return false;
}

}  // namespace paceline
