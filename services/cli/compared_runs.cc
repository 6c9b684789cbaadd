#include "services/cli/compared_runs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

Json SpreadOrNull(const std::optional<Spread>& spread) {
  return spread.has_value() ? SpreadJson(*spread) : Json(nullptr);
}

std::optional<Spread> SpreadOrNothing(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return SpreadOf(values);
}

}  // namespace

std::optional<Spread> SpreadOfField(const ComparedRuns& compared,
                                    absl::string_view name) {
  std::vector<double> values;
  for (const Json& run : compared.runs) {
    if (const auto value = NumberField(run, name)) values.push_back(*value);
  }
  return SpreadOrNothing(values);
}

std::optional<Spread> SpreadOfTime(const ComparedRuns& compared,
                                   absl::string_view name) {
  if (RunsWith(compared, name) == 0) return std::nullopt;
  std::vector<double> values;
  for (const Json& run : compared.runs) {
    values.push_back(NumberField(run, name).value_or(kNever));
  }
  return SpreadOf(values);
}

std::optional<Spread> SpreadOfRate(const ComparedRuns& compared) {
  std::vector<double> rates;
  for (const Json& run : compared.runs) {
    const std::optional<double> seconds = NumberField(run, "seconds");
    const std::optional<double> samples = NumberField(run, "samples");
    if (!seconds.has_value() || !samples.has_value() || *seconds <= 0) continue;
    rates.push_back(*samples / *seconds);
  }
  return SpreadOrNothing(rates);
}

std::vector<double> TargetsOf(const std::vector<ComparedRuns>& results) {
  std::vector<double> accuracies;
  for (const ComparedRuns& of : results) {
    for (const Json& run : of.runs) {
      const Json* const targets = FindField(run, "targets");
      if (targets == nullptr || targets->size() < 2) continue;
      for (const Json& target : *targets) {
        accuracies.push_back(NumberField(target, "accuracy").value_or(0));
      }
      return accuracies;
    }
  }
  return accuracies;
}

std::optional<Spread> SpreadOfTarget(const ComparedRuns& compared,
                                     size_t index) {
  std::vector<double> values;
  for (const Json& run : compared.runs) {
    const Json* const targets = FindField(run, "targets");
    const bool known = targets != nullptr && index < targets->size();
    values.push_back(
        known ? NumberField(targets->at(index), "seconds").value_or(kNever)
              : kNever);
  }
  if (std::ranges::all_of(values, [](double v) { return v == kNever; })) {
    return std::nullopt;
  }
  return SpreadOf(values);
}

std::vector<std::string> TargetHeaders(const std::vector<double>& targets) {
  if (targets.empty()) return {"TO TARGET"};
  std::vector<std::string> headers;
  headers.reserve(targets.size());
  for (const double target : targets) {
    headers.push_back(absl::StrCat("TO ", target));
  }
  return headers;
}

std::vector<std::string> TargetCells(const ComparedRuns& compared,
                                     const std::vector<double>& targets) {
  const auto text = [](const std::optional<Spread>& spread) {
    return spread.has_value() ? FormatSpread(*spread, 2) : std::string("-");
  };
  if (targets.empty()) {
    return {text(SpreadOfTime(compared, "seconds_to_target"))};
  }
  std::vector<std::string> cells;
  cells.reserve(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    cells.push_back(text(SpreadOfTarget(compared, i)));
  }
  return cells;
}

size_t RunsWith(const ComparedRuns& compared, absl::string_view name) {
  return static_cast<size_t>(std::ranges::count_if(
      compared.runs,
      [&](const Json& run) { return NumberField(run, name).has_value(); }));
}

bool AnyRepeated(const std::vector<ComparedRuns>& results) {
  return std::ranges::any_of(
      results, [](const ComparedRuns& of) { return of.runs.size() > 1; });
}

Json SummariesJson(const std::vector<ComparedRuns>& results) {
  const std::vector<double> targets = TargetsOf(results);
  Json summaries = Json::array();
  for (const ComparedRuns& of : results) {
    summaries.push_back(
        {{"paradigm", of.label},
         {"runs", of.runs.size()},
         {"reached", RunsWith(of, "seconds_to_target")},
         {"seconds", SpreadOrNull(SpreadOfField(of, "seconds"))},
         {"seconds_to_target",
          SpreadOrNull(SpreadOfTime(of, "seconds_to_target"))},
         {"final_accuracy", SpreadOrNull(SpreadOfField(of, "final_accuracy"))},
         {"samples_per_second", SpreadOrNull(SpreadOfRate(of))},
         {"updates", SpreadOrNull(SpreadOfField(of, "updates"))},
         {"pushes", SpreadOrNull(SpreadOfField(of, "pushes"))}});
    for (size_t i = 0; i < targets.size(); ++i) {
      summaries.back()["targets"].push_back(
          {{"accuracy", targets[i]},
           {"seconds", SpreadOrNull(SpreadOfTarget(of, i))}});
    }
  }
  return summaries;
}

std::vector<RepeatedRun> ByTurns(size_t options, size_t repeat, uint64_t seed) {
  std::vector<RepeatedRun> runs;
  runs.reserve(options * repeat);
  for (size_t turn = 0; turn < repeat; ++turn) {
    for (size_t option = 0; option < options; ++option) {
      runs.push_back({.option = option, .turn = turn, .seed = seed + turn});
    }
  }
  return runs;
}

}  // namespace paceline
