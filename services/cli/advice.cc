#include "services/cli/advice.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/cli/results_table.h"
#include "services/cli/spread.h"
#include "services/coordinator/planner/auto_pilot.h"
#include "services/coordinator/planner/forecast.h"

namespace paceline {
namespace {

constexpr double kNotReached = std::numeric_limits<double>::infinity();

// An option, and by what it is ranked: more is better.
struct Ranked {
  AdvisedOption option;
  double merit = 0;
};

double MeanOf(const IntHistogram& histogram) {
  if (histogram.total() == 0) return 0;
  double sum = 0;
  for (const auto& [value, count] : histogram.counts()) {
    sum += static_cast<double>(value) * static_cast<double>(count);
  }
  return sum / static_cast<double>(histogram.total());
}

Forecast ForecastOf(const SimulationResult& result) {
  const double seconds = ToSeconds(result.duration);
  const auto trained =
      static_cast<double>(result.samples - result.samples_discarded);
  return {.samples_per_second = seconds > 0 ? trained / seconds : 0,
          .staleness = MeanOf(result.staleness)};
}

Ranked Rank(const AdvisedRuns& of, size_t workers, bool to_target) {
  std::vector<double> rates;
  std::vector<double> staleness;
  std::vector<double> values;
  std::vector<double> accuracy;
  std::vector<double> targets;
  AdvisedOption option{.label = of.label, .runs = of.results.size()};
  for (const SimulationResult& result : of.results) {
    const Forecast forecast = ForecastOf(result);
    rates.push_back(forecast.samples_per_second);
    staleness.push_back(forecast.staleness);
    values.push_back(forecast.Value(workers));
    targets.push_back(result.seconds_to_target.value_or(kNotReached));
    if (result.seconds_to_target.has_value()) ++option.reached;
    if (!result.accuracy.empty() &&
        result.accuracy.back().accuracy.has_value()) {
      accuracy.push_back(*result.accuracy.back().accuracy);
    }
  }
  option.samples_per_second = SpreadOf(rates);
  option.staleness = SpreadOf(staleness);
  if (!accuracy.empty()) option.accuracy = SpreadOf(accuracy);
  if (!to_target) return {std::move(option), MedianOf(values)};
  const double target = MedianOf(targets);
  if (target < kNotReached) option.seconds_to_target = target;
  return {std::move(option), target < kNotReached ? 1 / target : 0};
}

// The best one, if it is clearly better than the first; else that. Null: none
// reaches the target.
const AdvisedOption* Advised(const std::vector<AdvisedOption>& ranked,
                             const std::string& first) {
  const AdvisedOption& best = ranked.front();
  if (best.speed_up.has_value() && *best.speed_up < AutoPilot::kLeastGain) {
    return &*std::ranges::find(ranked, first, &AdvisedOption::label);
  }
  const bool comes_to_something =
      best.speed_up.has_value() || best.seconds_to_target.has_value();
  return comes_to_something ? &best : nullptr;
}

}  // namespace

std::vector<AdvisedOption> RankOptions(const std::vector<AdvisedRuns>& runs,
                                       size_t workers, bool to_target) {
  std::vector<Ranked> ranked;
  ranked.reserve(runs.size());
  for (const AdvisedRuns& of : runs) {
    ranked.push_back(Rank(of, workers, to_target));
  }
  const double first = ranked.front().merit;
  for (Ranked& each : ranked) {
    if (first > 0 && each.merit > 0) each.option.speed_up = each.merit / first;
  }
  std::ranges::stable_sort(ranked, std::ranges::greater(), &Ranked::merit);
  std::vector<AdvisedOption> options;
  options.reserve(ranked.size());
  for (Ranked& each : ranked) options.push_back(std::move(each.option));
  return options;
}

std::string Conclusion(const std::vector<AdvisedOption>& ranked,
                       const std::string& first) {
  const AdvisedOption* const best = Advised(ranked, first);
  if (best == nullptr) {
    return ranked.front().accuracy.has_value()
               ? "No paradigm reaches the target.\n"
               : "Nothing was trained on in that time.\n";
  }
  std::string why;
  if (best->label == first) {
    why = absl::StrFormat("Nothing is clearly better than %s here (%.2f times)",
                          first, ranked.front().speed_up.value_or(1));
  } else if (!best->speed_up.has_value()) {
    why = absl::StrFormat("%s reaches the target, and %s does not", best->label,
                          first);
  } else if (best->seconds_to_target.has_value()) {
    why = absl::StrFormat("%s reaches the target %.2f times as soon as %s",
                          best->label, *best->speed_up, first);
  } else {
    why = absl::StrFormat("%s is worth %.2f times as much as %s", best->label,
                          *best->speed_up, first);
  }
  return absl::StrCat(why, ": use --paradigm ", best->label, "\n");
}

std::string AdviceTable(const std::vector<AdvisedOption>& ranked,
                        const std::string& first) {
  const bool trained = ranked.front().accuracy.has_value();
  std::vector<std::vector<std::string>> rows = {
      {"PARADIGM", "SAMPLES/S", "STALENESS"}};
  if (trained) {
    rows[0].insert(rows[0].end(), {"ACCURACY", "TO TARGET", "REACHED"});
  }
  rows[0].push_back(absl::StrCat("BESIDE ", first));
  for (const AdvisedOption& option : ranked) {
    std::vector<std::string> row = {option.label,
                                    FormatSpread(option.samples_per_second, 1),
                                    FormatSpread(option.staleness, 2)};
    if (trained) {
      row.push_back(FormatSpread(option.accuracy.value_or(Spread()), 4));
      row.push_back(option.seconds_to_target.has_value()
                        ? absl::StrFormat("%.2f", *option.seconds_to_target)
                        : "-");
      row.push_back(absl::StrCat(option.reached, "/", option.runs));
    }
    row.push_back(option.speed_up.has_value()
                      ? absl::StrFormat("%.2fx", *option.speed_up)
                      : "-");
    rows.push_back(std::move(row));
  }
  return absl::StrCat(
      AlignColumns(rows, ""),
      trained ? ""
              : "(samples a second in virtual time, and what staleness may "
                "cost taken off. --train measures that cost)\n");
}

Json AdviceJson(const std::vector<AdvisedOption>& ranked,
                const std::string& first) {
  const auto or_null = [](const std::optional<double>& value) {
    return value.has_value() ? Json(*value) : Json(nullptr);
  };
  Json document;
  document["options"] = Json::array();
  for (const AdvisedOption& option : ranked) {
    document["options"].push_back(
        {{"paradigm", option.label},
         {"runs", option.runs},
         {"samples_per_second", SpreadJson(option.samples_per_second)},
         {"staleness", SpreadJson(option.staleness)},
         {"accuracy", option.accuracy.has_value() ? SpreadJson(*option.accuracy)
                                                  : Json(nullptr)},
         {"seconds_to_target", or_null(option.seconds_to_target)},
         {"reached", option.reached},
         {"speed_up", or_null(option.speed_up)}});
  }
  document["compared_with"] = first;
  const AdvisedOption* const advised = Advised(ranked, first);
  document["advised"] =
      advised == nullptr ? Json(nullptr) : Json(advised->label);
  return document;
}

}  // namespace paceline
