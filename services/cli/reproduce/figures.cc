#include <algorithm>
#include <cmath>
#include <limits>

#include "services/cli/reproduce/reproduction.h"
#include "services/cli/target_times.h"

namespace paceline {
namespace {

constexpr double kNotReached = std::numeric_limits<double>::infinity();

double TargetSeconds(const Json& run, size_t target) {
  const Json* const targets = FindField(run, "targets");
  if (targets == nullptr || target >= targets->size()) return kNotReached;
  return NumberField(targets->at(target), "seconds").value_or(kNotReached);
}

// `value` of each run: the mean of a rule's paradigms, over the seeds.
template <typename Value>
Spread SpreadOfMeans(const std::vector<std::vector<Json>>& seeds,
                     const Value& value) {
  std::vector<double> means;
  for (const std::vector<Json>& paradigms : seeds) {
    double sum = 0;
    for (const Json& run : paradigms) sum += value(run);
    means.push_back(sum / static_cast<double>(paradigms.size()));
  }
  return SpreadOf(means);
}

double SecondsOf(const Json& run) {
  return NumberField(run, "seconds").value_or(0);
}

}  // namespace

ClusterFigures FiguresOf(const ClusterRuns& runs, size_t targets) {
  ClusterFigures figures = {.cluster = runs.cluster,
                            .equal_seconds = kNotReached};
  for (const auto& seeds : runs.rules) {
    for (const std::vector<Json>& paradigms : seeds) {
      for (const Json& run : paradigms) {
        figures.equal_seconds = std::min(figures.equal_seconds, SecondsOf(run));
      }
    }
  }
  for (const auto& seeds : runs.rules) {
    RuleFigures& rule = figures.rules.emplace_back();
    for (size_t i = 0; i < targets; ++i) {
      rule.to_targets.push_back(SpreadOfMeans(
          seeds, [i](const Json& run) { return TargetSeconds(run, i); }));
    }
    rule.seconds = SpreadOfMeans(seeds, SecondsOf);
    rule.accuracy = SpreadOfMeans(seeds, [](const Json& run) {
      return NumberField(run, "final_accuracy").value_or(0);
    });
    rule.accuracy_at_time = SpreadOfMeans(seeds, [&](const Json& run) {
      return AccuracyUntil(run, "seconds", figures.equal_seconds).value_or(0);
    });
  }
  return figures;
}

std::optional<Ratio> TimeGain(const ExperimentGain& gain,
                              const ClusterFigures& figures) {
  const auto reached = [&](size_t rule) {
    const std::vector<Spread>& targets = figures.rules[rule].to_targets;
    return targets.empty() ? kNotReached : targets.front().median;
  };
  const double ours = reached(gain.ours);
  if (!std::isfinite(ours) || ours <= 0) return std::nullopt;
  Ratio ratio;
  double sum = 0;
  for (const size_t other : gain.others) {
    const bool never = !std::isfinite(reached(other));
    ratio.at_least |= never;
    sum += never ? figures.rules[other].seconds.median : reached(other);
  }
  ratio.times = sum / static_cast<double>(gain.others.size()) / ours;
  return ratio;
}

}  // namespace paceline
