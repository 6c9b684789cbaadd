#include "services/cli/target_times.h"

namespace paceline {

std::vector<TargetTime> TargetTimes(const std::vector<AccuracyPoint>& points,
                                    const std::vector<double>& accuracies) {
  std::vector<TargetTime> times;
  times.reserve(accuracies.size());
  for (const double accuracy : accuracies) {
    times.push_back(
        {.accuracy = accuracy,
         .seconds = SecondsToTarget(points, AccuracyTarget(accuracy))});
  }
  return times;
}

std::vector<AccuracyPoint> AccuracyPointsOf(const Json& run) {
  std::vector<AccuracyPoint> points;
  const Json* const array = FindField(run, "accuracy");
  if (array == nullptr || !array->is_array()) return points;
  for (const Json& point : *array) {
    const std::optional<double> seconds = NumberField(point, "seconds");
    if (!seconds.has_value()) continue;
    points.push_back({.seconds = *seconds,
                      .samples = IntegerField(point, "samples"),
                      .accuracy = NumberField(point, "accuracy")});
  }
  return points;
}

std::optional<double> AccuracyUntil(const Json& run, absl::string_view measure,
                                    double most) {
  std::optional<double> accuracy;
  const Json* const points = FindField(run, "accuracy");
  if (points == nullptr) return accuracy;
  for (const Json& point : *points) {
    const std::optional<double> at = NumberField(point, measure);
    if (!at.has_value() || *at > most) break;
    const std::optional<double> evaluated = NumberField(point, "accuracy");
    if (evaluated.has_value()) accuracy = evaluated;
  }
  return accuracy;
}

void SetTargets(const std::vector<TargetTime>& times, Json& run) {
  if (times.empty()) return;
  const auto or_null = [](const std::optional<double>& value) {
    return value.has_value() ? Json(*value) : Json(nullptr);
  };
  run["target"] = FormatMetricTarget(AccuracyTarget(times.front().accuracy));
  run["seconds_to_target"] = or_null(times.front().seconds);
  Json& targets = run["targets"] = Json::array();
  for (const TargetTime& time : times) {
    targets.push_back(
        {{"accuracy", time.accuracy}, {"seconds", or_null(time.seconds)}});
  }
}

}  // namespace paceline
