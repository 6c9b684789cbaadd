#include "services/cli/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "services/cli/target_times.h"

namespace paceline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double MedianToTarget(const TriedRule& rule) {
  const auto spread = SpreadOfTime(rule.runs, "seconds_to_target");
  return spread.has_value() ? spread->median : kNever;
}

double MedianAccuracy(const TriedRule& rule) {
  const auto spread = SpreadOfField(rule.runs, "final_accuracy");
  return spread.has_value() ? spread->median : 0;
}

bool IsBetter(const TriedRule& one, const TriedRule& other) {
  const double seconds = MedianToTarget(one);
  const double others = MedianToTarget(other);
  if (std::isfinite(seconds) || std::isfinite(others)) return seconds < others;
  return MedianAccuracy(one) > MedianAccuracy(other);
}

std::optional<Spread> AccuracyOf(const TriedRule& rule,
                                 absl::string_view measure, double most) {
  std::vector<double> values;
  for (const Json& run : rule.runs.runs) {
    const std::optional<double> accuracy = AccuracyUntil(run, measure, most);
    if (!accuracy.has_value()) return std::nullopt;
    values.push_back(*accuracy);
  }
  return SpreadOf(values);
}

void SetEqualSeconds(Comparison& comparison, std::optional<double> asked) {
  double to_target = kNever;
  double ended = kNever;
  for (const size_t i : comparison.chosen) {
    const TriedRule& rule = comparison.tried[i];
    to_target = std::min(to_target, MedianToTarget(rule));
    ended = std::min(ended, SpreadOfField(rule.runs, "seconds")->min);
  }
  comparison.is_time_of_target = !asked.has_value() && std::isfinite(to_target);
  comparison.equal_seconds = asked.value_or(std::min(to_target, ended));
}

void SetEqualSamples(Comparison& comparison) {
  double fewest = kNever;
  double most = 0;
  for (const size_t i : comparison.chosen) {
    const Spread samples = *SpreadOfField(comparison.tried[i].runs, "samples");
    fewest = std::min(fewest, samples.min);
    most = std::max(most, samples.max);
  }
  comparison.equal_samples = fewest;
  comparison.all_at_equal_samples = fewest == most;
}

Json TriedJson(const TriedRule& rule) {
  Json entry = {{"paradigm", rule.runs.label},
                {"learning_rate", rule.learning_rate},
                {"momentum", MomentumJson(rule.momentum)}};
  entry.update(SummariesJson({rule.runs})[0]);
  return entry;
}

Json OrNull(const std::optional<Spread>& spread) {
  return spread.has_value() ? SpreadJson(*spread) : Json(nullptr);
}

}  // namespace

Json MomentumJson(const std::string& momentum) {
  double number = 0;
  if (absl::SimpleAtod(momentum, &number)) return number;
  return momentum.empty() ? Json(nullptr) : Json(momentum);
}

size_t BestOf(absl::Span<const TriedRule> tried) {
  CHECK(!tried.empty());
  size_t best = 0;
  for (size_t i = 1; i < tried.size(); ++i) {
    if (IsBetter(tried[i], tried[best])) best = i;
  }
  return best;
}

Comparison Compare(std::vector<TriedRule> tried, size_t points_each,
                   std::optional<double> at_seconds) {
  CHECK(points_each > 0 && tried.size() % points_each == 0);
  Comparison comparison;
  size_t i = 0;
  while (i < tried.size()) {
    const size_t first = comparison.tried.size();
    for (size_t point = 0; point < points_each; ++point, ++i) {
      if (tried[i].runs.runs.empty()) continue;
      comparison.tried.push_back(std::move(tried[i]));
    }
    if (comparison.tried.size() == first) continue;
    comparison.chosen.push_back(
        first + BestOf(absl::MakeConstSpan(comparison.tried).subspan(first)));
  }
  if (comparison.chosen.empty()) return comparison;
  SetEqualSeconds(comparison, at_seconds);
  SetEqualSamples(comparison);
  return comparison;
}

std::optional<Spread> AccuracyAtTime(const Comparison& comparison,
                                     const TriedRule& rule) {
  return AccuracyOf(rule, "seconds", comparison.equal_seconds);
}

std::optional<Spread> AccuracyAtSamples(const Comparison& comparison,
                                        const TriedRule& rule) {
  return AccuracyOf(rule, "samples", comparison.equal_samples);
}

std::optional<Spread> StalenessOf(const TriedRule& rule,
                                  absl::string_view quantile) {
  std::vector<double> values;
  for (const Json& run : rule.runs.runs) {
    const Json* const staleness = FindField(run, "staleness");
    if (staleness == nullptr) continue;
    if (const auto value = NumberField(*staleness, quantile)) {
      values.push_back(*value);
    }
  }
  if (values.empty()) return std::nullopt;
  return SpreadOf(values);
}

Json ComparisonJson(const Comparison& comparison) {
  Json document = {{"equal_seconds", comparison.equal_seconds},
                   {"equal_samples", comparison.equal_samples},
                   {"rules", Json::array()},
                   {"tried", Json::array()}};
  for (const size_t i : comparison.chosen) {
    const TriedRule& rule = comparison.tried[i];
    Json entry = TriedJson(rule);
    entry["accuracy_at_equal_seconds"] =
        OrNull(AccuracyAtTime(comparison, rule));
    entry["accuracy_at_equal_samples"] =
        OrNull(AccuracyAtSamples(comparison, rule));
    entry["waiting_share"] = OrNull(SpreadOfField(rule.runs, "waiting_share"));
    for (const char* quantile : {"p50", "p99"}) {
      entry["staleness"][quantile] = OrNull(StalenessOf(rule, quantile));
    }
    document["rules"].push_back(std::move(entry));
  }
  for (size_t i = 0; i < comparison.tried.size(); ++i) {
    Json entry = TriedJson(comparison.tried[i]);
    entry["chosen"] = std::ranges::count(comparison.chosen, i) > 0;
    document["tried"].push_back(std::move(entry));
  }
  return document;
}

}  // namespace paceline
