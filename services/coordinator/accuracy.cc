#include "services/coordinator/accuracy.h"

#include <cstddef>
#include <nlohmann/json.hpp>

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

nlohmann::ordered_json AccuracyJson(const std::vector<AccuracyPoint>& points) {
  auto array = nlohmann::ordered_json::array();
  for (const AccuracyPoint& point : points) {
    array.push_back({{"seconds", point.seconds},
                     {"version", point.version},
                     {"version_at_completion", point.version_at_completion},
                     {"samples", point.samples},
                     {"accuracy", point.accuracy},
                     {"loss", point.loss}});
  }
  return array;
}

}  // namespace paceline
