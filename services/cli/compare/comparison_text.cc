#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/cli/compare/comparison.h"
#include "services/cli/results_table.h"

namespace paceline {
namespace {

using Row = std::vector<std::string>;

std::vector<const TriedRule*> Chosen(const Comparison& comparison) {
  std::vector<const TriedRule*> rules;
  for (const size_t i : comparison.chosen) {
    rules.push_back(&comparison.tried[i]);
  }
  return rules;
}

std::string Text(const std::optional<Spread>& spread, int digits) {
  return spread.has_value() ? FormatSpread(*spread, digits) : "-";
}

std::string Percent(std::optional<Spread> share) {
  if (!share.has_value()) return "-";
  return FormatSpread({100 * share->median, 100 * share->min, 100 * share->max},
                      1);
}

std::string StalenessCell(const TriedRule& rule) {
  const std::optional<Spread> median = StalenessOf(rule, "p50");
  const std::optional<Spread> high = StalenessOf(rule, "p99");
  if (!median.has_value() || !high.has_value()) return "-";
  return absl::StrFormat("%.0f/%.0f", median->median, high->median);
}

bool HasTarget(const Comparison& comparison) {
  return std::ranges::any_of(comparison.tried, [](const TriedRule& rule) {
    return !TextField(rule.runs.runs.front(), "target").empty();
  });
}

std::string ToTargetCell(const TriedRule& rule) {
  const auto spread = SpreadOfTime(rule.runs, "seconds_to_target");
  return spread.has_value() ? FormatSpread(*spread, 1) : "never";
}

// "29.41", "1234".
std::string Seconds(double seconds) {
  return seconds < 1000 ? absl::StrFormat("%.4g", seconds)
                        : absl::StrFormat("%.0f", seconds);
}

Row HeaderRow(const Comparison& comparison, bool has_target) {
  Row row = {"PARADIGM", "RATE", "MOMENTUM"};
  if (has_target) row.insert(row.end(), {"TO TARGET", "REACHED"});
  row.push_back(absl::StrCat("AT ", Seconds(comparison.equal_seconds), " S"));
  if (!comparison.all_at_equal_samples) {
    row.push_back(absl::StrFormat("AT %.0f SAMPLES", comparison.equal_samples));
  }
  row.insert(row.end(), {"ACCURACY", "VIRTUAL S", "WAITING %", "STALENESS"});
  return row;
}

Row RuleRow(const Comparison& comparison, const TriedRule& rule,
            bool has_target) {
  Row row = {rule.runs.label, absl::StrFormat("%g", rule.learning_rate),
             rule.momentum.empty() ? "-" : rule.momentum};
  if (has_target) {
    row.push_back(ToTargetCell(rule));
    row.push_back(absl::StrCat(RunsWith(rule.runs, "seconds_to_target"), "/",
                               rule.runs.runs.size()));
  }
  row.push_back(Text(AccuracyAtTime(comparison, rule), 4));
  if (!comparison.all_at_equal_samples) {
    row.push_back(Text(AccuracyAtSamples(comparison, rule), 4));
  }
  row.push_back(Text(SpreadOfField(rule.runs, "final_accuracy"), 4));
  row.push_back(Text(SpreadOfField(rule.runs, "seconds"), 1));
  row.push_back(Percent(SpreadOfField(rule.runs, "waiting_share")));
  row.push_back(StalenessCell(rule));
  return row;
}

// What stands in the columns, a line each.
std::string Legend(const Comparison& comparison) {
  size_t seeds = 0;
  for (const TriedRule& rule : comparison.tried) {
    seeds = std::max(seeds, rule.runs.runs.size());
  }
  std::string text;
  if (seeds > 1) {
    absl::StrAppend(&text, "(medians of ", seeds,
                    " seeds; the least and the most stand in brackets)\n");
  }
  if (comparison.tried.size() > comparison.chosen.size()) {
    absl::StrAppend(&text,
                    "(rate and momentum: those with which the rule was best, "
                    "of all that were tried)\n");
  }
  absl::StrAppend(&text, "(AT ", Seconds(comparison.equal_seconds),
                  " S: accuracy at this time",
                  comparison.is_time_of_target
                      ? ", when the first rule reached the target"
                      : "",
                  ")\n");
  if (comparison.all_at_equal_samples) {
    absl::StrAppendFormat(
        &text, "(ACCURACY: at the end, after %.0f samples for every rule)\n",
        comparison.equal_samples);
  }
  return absl::StrCat(text, "(staleness: median/99th percentile)\n");
}

const TriedRule& MostAccurate(const std::vector<const TriedRule*>& rules,
                              const Comparison& comparison, bool at_end) {
  const auto accuracy = [&](const TriedRule* rule) {
    const auto spread = at_end ? SpreadOfField(rule->runs, "final_accuracy")
                               : AccuracyAtTime(comparison, *rule);
    return spread.has_value() ? spread->median : 0;
  };
  return **std::ranges::max_element(rules, {}, accuracy);
}

// Who has learned most, where no rule has reached a target.
std::string AccuracyConclusion(const std::vector<const TriedRule*>& rules,
                               const Comparison& comparison) {
  const TriedRule& at_time = MostAccurate(rules, comparison, false);
  const TriedRule& at_end = MostAccurate(rules, comparison, true);
  return absl::StrFormat(
      "\n%sAfter %s s %s has the highest accuracy, %s; at the end %s, %s.\n",
      HasTarget(comparison)
          ? "No rule reached the target in most of its runs.\n"
          : "",
      Seconds(comparison.equal_seconds), at_time.runs.label,
      Text(AccuracyAtTime(comparison, at_time), 4),
      at_end.runs.label == at_time.runs.label ? "too" : at_end.runs.label,
      Text(SpreadOfField(at_end.runs, "final_accuracy"), 4));
}

std::optional<Spread> ToTarget(const TriedRule& rule) {
  const auto spread = SpreadOfTime(rule.runs, "seconds_to_target");
  if (!spread.has_value() || !std::isfinite(spread->median)) {
    return std::nullopt;
  }
  return spread;
}

// Rules that chance may have put behind the first; empty: none.
std::string WithinChance(const std::vector<const TriedRule*>& rules) {
  const TriedRule* soonest = nullptr;
  for (const TriedRule* rule : rules) {
    if (!ToTarget(*rule).has_value()) continue;
    if (soonest == nullptr ||
        ToTarget(*rule)->median < ToTarget(*soonest)->median) {
      soonest = rule;
    }
  }
  if (soonest == nullptr || soonest->runs.runs.size() < 2) return "";
  const double latest = ToTarget(*soonest)->max;
  std::vector<std::string> others;
  for (const TriedRule* rule : rules) {
    const auto spread = ToTarget(*rule);
    if (rule == soonest || !spread.has_value()) continue;
    if (spread->min <= latest) others.push_back(rule->runs.label);
  }
  if (others.empty()) return "";
  return absl::StrCat("Whether ", soonest->runs.label,
                      " is sooner than these may be chance, for their runs "
                      "overlap: ",
                      absl::StrJoin(others, "; "), ".\n");
}

// Rules whose best rate is the lowest or highest that was tried.
std::string AtTheEdge(const std::vector<const TriedRule*>& rules,
                      const Comparison& comparison) {
  const auto [low, high] =
      std::ranges::minmax(comparison.tried, {}, &TriedRule::learning_rate);
  if (low.learning_rate == high.learning_rate) return "";
  std::string text;
  const auto add = [&](double edge, absl::string_view name) {
    std::vector<std::string> labels;
    for (const TriedRule* rule : rules) {
      if (rule->learning_rate == edge) labels.push_back(rule->runs.label);
    }
    if (labels.empty()) return;
    absl::StrAppend(&text, "The best rate is the ", name,
                    " of --rates for: ", absl::StrJoin(labels, "; "), ".\n");
  };
  add(low.learning_rate, "lowest");
  add(high.learning_rate, "highest");
  return text;
}

}  // namespace

std::string ComparisonText(const Comparison& comparison) {
  const std::vector<const TriedRule*> rules = Chosen(comparison);
  if (rules.empty()) return "";
  const bool has_target = HasTarget(comparison);
  std::vector<Row> rows = {HeaderRow(comparison, has_target)};
  std::vector<ComparedRuns> compared;
  for (const TriedRule* rule : rules) {
    rows.push_back(RuleRow(comparison, *rule, has_target));
    compared.push_back(rule->runs);
  }
  std::string conclusion = TargetConclusion(compared);
  if (std::ranges::none_of(rules, [](const TriedRule* rule) {
        return ToTarget(*rule).has_value();
      })) {
    conclusion = AccuracyConclusion(rules, comparison);
  }
  return absl::StrCat(AlignColumns(rows, ""), Legend(comparison), conclusion,
                      WithinChance(rules), AtTheEdge(rules, comparison));
}

}  // namespace paceline
