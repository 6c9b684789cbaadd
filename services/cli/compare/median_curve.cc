#include "services/cli/compare/median_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "services/cli/spread.h"

namespace paceline {
namespace {

// Evaluations that all runs have.
size_t Evaluations(const ComparedRuns& compared) {
  size_t fewest = std::numeric_limits<size_t>::max();
  for (const Json& run : compared.runs) {
    const Json* const points = FindField(run, "accuracy");
    fewest = std::min(fewest, points == nullptr ? 0 : points->size());
  }
  return compared.runs.empty() ? 0 : fewest;
}

// What the runs have measured at evaluation number `index`; nothing: one has
// not.
std::optional<Spread> Measured(const ComparedRuns& compared, size_t index,
                               absl::string_view measure) {
  std::vector<double> values;
  for (const Json& run : compared.runs) {
    const auto value =
        NumberField(FindField(run, "accuracy")->at(index), measure);
    if (!value.has_value() || !std::isfinite(*value)) return std::nullopt;
    values.push_back(*value);
  }
  return SpreadOf(values);
}

Json MedianPoint(const ComparedRuns& compared, size_t index) {
  Json point;
  for (const char* measure : {"seconds", "samples", "accuracy", "loss"}) {
    const auto spread = Measured(compared, index, measure);
    point[measure] = spread.has_value() ? Json(spread->median) : Json(nullptr);
  }
  if (compared.runs.size() < 2) return point;
  for (const char* measure : {"accuracy", "loss"}) {
    const auto spread = Measured(compared, index, measure);
    if (!spread.has_value()) continue;
    point["range"][measure] = {spread->min, spread->max};
  }
  return point;
}

Json MedianOrNull(const std::optional<Spread>& spread) {
  return spread.has_value() ? SpreadJson(*spread)["median"] : Json(nullptr);
}

}  // namespace

Json MedianCurve(const ComparedRuns& compared) {
  Json points = Json::array();
  const size_t count = Evaluations(compared);
  for (size_t i = 0; i < count; ++i) {
    points.push_back(MedianPoint(compared, i));
  }
  return points;
}

Json DrawnRule(Json drawn, const ComparedRuns& compared) {
  drawn["accuracy"] = MedianCurve(compared);
  for (const char* name : {"seconds", "final_accuracy", "samples_per_second",
                           "updates", "waiting_share"}) {
    drawn[name] = MedianOrNull(SpreadOfField(compared, name));
  }
  const Json to_target =
      MedianOrNull(SpreadOfTime(compared, "seconds_to_target"));
  drawn["seconds_to_target"] = to_target;
  Json* const targets = drawn.contains("targets") ? &drawn["targets"] : nullptr;
  // There is one.
  if (targets != nullptr && !targets->empty()) {
    targets->front()["seconds"] = to_target;
  }
  return drawn;
}

}  // namespace paceline
