#ifndef PACELINE_SERVICES_COORDINATOR_ACCURACY_H_
#define PACELINE_SERVICES_COORDINATOR_ACCURACY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/job/metric_target.h"

namespace paceline {

// One snapshot's evaluation, stamped with the moment at which it was taken.
struct AccuracyPoint {
  double seconds = 0;
  int64_t version = 0;
  int64_t version_at_completion = 0;  // When the last server had taken it.
  int64_t samples = 0;
  int64_t samples_discarded = 0;   // Of these.
  std::optional<double> accuracy;  // Built-in models have both of these.
  std::optional<double> loss;
  // What else was measured, by its names; all of it finite.
  std::map<std::string, double> metrics = {};
};

// Of that name, "accuracy" and "loss" included.
std::optional<double> MetricOf(const AccuracyPoint& point,
                               absl::string_view metric);

inline MetricTarget AccuracyTarget(double accuracy) {
  return {.metric = std::string(kAccuracyMetric), .value = accuracy};
}
inline MetricTarget LossTarget(double loss) {
  return {.metric = std::string(kLossMetric), .value = loss, .at_least = false};
}

// Puts it where it belongs by its seconds; behind those of the same moment.
// REQUIRES: `points` are sorted by them.
void InsertBySeconds(std::vector<AccuracyPoint>& points, AccuracyPoint point);

// Seconds at which the target was reached: linear interpolation to the first of
// two consecutive points that have it (the last point alone counts too, having
// none after it). Nothing if it never was.
// REQUIRES: `points` are sorted by seconds.
std::optional<double> SecondsToTarget(const std::vector<AccuracyPoint>& points,
                                      const MetricTarget& target);

// Whether two consecutive points have reached the target.
bool TargetReached(const std::vector<AccuracyPoint>& points,
                   const MetricTarget& target);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ACCURACY_H_
