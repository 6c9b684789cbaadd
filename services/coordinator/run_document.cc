#include "services/coordinator/run_document.h"

#include <nlohmann/json.hpp>

namespace paceline {

using Json = nlohmann::ordered_json;

namespace {

Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

}  // namespace

Json MetricsJson(const AccuracyPoint& point) {
  Json metrics = Json::object();
  for (const absl::string_view name : {kAccuracyMetric, kLossMetric}) {
    const std::optional<double> value = MetricOf(point, name);
    if (value.has_value()) metrics[std::string(name)] = *value;
  }
  for (const auto& [name, value] : point.metrics) metrics[name] = value;
  return metrics;
}

Json AccuracyJson(const std::vector<AccuracyPoint>& points) {
  Json array = Json::array();
  for (const AccuracyPoint& point : points) {
    array.push_back({{"seconds", point.seconds},
                     {"version", point.version},
                     {"version_at_completion", point.version_at_completion},
                     {"samples", point.samples},
                     {"accuracy", OrNull(point.accuracy)},
                     {"loss", OrNull(point.loss)}});
    if (!point.metrics.empty()) array.back()["metrics"] = point.metrics;
  }
  return array;
}

Json QuantilesJson(const IntHistogram& histogram) {
  return {{"p50", histogram.Quantile(0.5)},
          {"p99", histogram.Quantile(0.99)},
          {"max", histogram.Max()}};
}

Json SwitchJson(const Switched& switched, double seconds,
                std::optional<double> took) {
  return {{"seconds", seconds},
          {"from", switched.from},
          {"to", switched.to},
          {"reason", switched.reason},
          {"version", switched.version},
          {"samples", switched.samples},
          {"took_seconds", took.has_value() ? Json(*took) : Json(nullptr)}};
}

}  // namespace paceline
