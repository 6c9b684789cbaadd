#ifndef PACELINE_SERVICES_CLI_COMPARE_COMPARISON_H_
#define PACELINE_SERVICES_CLI_COMPARE_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/cli/compared_runs.h"
#include "services/cli/json_fields.h"
#include "services/cli/spread.h"

namespace paceline {

// What came of a comparison, from the documents of its runs to a table. Pure;
// thread-safe.

// A rule at one rate and momentum.
struct TriedRule {
  size_t option = 0;  // Which of all that were planned.
  double learning_rate = 0;
  std::string momentum;  // "0.9" or "auto"; empty: there is none.
  ComparedRuns runs;     // A run for each seed that ended.
};

// The momentum for programs: a number, "auto" or null.
Json MomentumJson(const std::string& momentum);

// Which of several is the best: the one with the least median of the seconds to
// the target. Where none has reached it in most of its runs, or there is no
// target, the one with the highest median of the accuracies at the end. Of
// equals the first.
// REQUIRES: each has a run, and there is one.
size_t BestOf(absl::Span<const TriedRule> tried);

// All rules, each at its best rate and momentum.
struct Comparison {
  std::vector<TriedRule> tried;
  std::vector<size_t> chosen;  // Of `tried`, one for each rule.
  double equal_seconds = 0;
  double equal_samples = 0;  // When the run that has the fewest ended.
  // Whether `equal_seconds` is when the first rule reached the target; else it
  // was asked for, or is when the first of the chosen runs ended.
  bool is_time_of_target = false;
  bool all_at_equal_samples = false;  // All chosen runs ended there.
};

// `tried` has what was tried of each rule, one rule behind the other,
// `points_each` of each rule. Those without a run are not chosen, and a rule
// without any is left out. `at_seconds`: what was asked for.
// REQUIRES: `points_each` is above 0 and divides how many were tried.
Comparison Compare(std::vector<TriedRule> tried, size_t points_each,
                   std::optional<double> at_seconds);

// The accuracies of the last evaluations until `equal_seconds`, or
// `equal_samples`; nothing if one of the runs had none until then.
std::optional<Spread> AccuracyAtTime(const Comparison& comparison,
                                     const TriedRule& rule);
std::optional<Spread> AccuracyAtSamples(const Comparison& comparison,
                                        const TriedRule& rule);

// The quantile, "p50" or "p99", of the staleness of each run; nothing: no run
// knows it.
std::optional<Spread> StalenessOf(const TriedRule& rule,
                                  absl::string_view quantile);

// For people: a line for each rule, and what that says in words.
std::string ComparisonText(const Comparison& comparison);

// For programs: {"equal_seconds", "equal_samples", "rules", "tried"}. Both are
// lists of what SummariesJson() says, with rate and momentum; "rules" has what
// was chosen, with more figures.
Json ComparisonJson(const Comparison& comparison);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_COMPARE_COMPARISON_H_
