#ifndef PACELINE_SERVICES_CLI_COMPARED_RUNS_H_
#define PACELINE_SERVICES_CLI_COMPARED_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/cli/json_fields.h"
#include "services/cli/spread.h"

namespace paceline {

// The finished runs of one paradigm of a comparison. They differ in their seed
// alone. Pure data; the functions below are thread-safe.
struct ComparedRuns {
  std::string label;  // As it was typed, "cgp", not the paradigm in full.
  // Elements of "runs" of what `paceline local -o json` or `paceline simulate
  // -o json` prints.
  std::vector<Json> runs;
};

// Of the runs that have the number; nothing: none has.
std::optional<Spread> SpreadOfField(const ComparedRuns& compared,
                                    absl::string_view name);

// As above, of a time that runs without the number have not reached: it is
// infinite for them.
std::optional<Spread> SpreadOfTime(const ComparedRuns& compared,
                                   absl::string_view name);

// Samples by seconds.
std::optional<Spread> SpreadOfRate(const ComparedRuns& compared);

// The accuracies of the runs' "targets"; none if they have no more than one,
// which is in "seconds_to_target".
std::vector<double> TargetsOf(const std::vector<ComparedRuns>& results);

// Seconds to the target number `index` of the runs, as SpreadOfTime().
std::optional<Spread> SpreadOfTarget(const ComparedRuns& compared,
                                     size_t index);

// What stands above and in the cells of a table for the seconds to the target,
// or to each of `targets`: "TO TARGET", or "TO 0.95", "TO 0.98".
std::vector<std::string> TargetHeaders(const std::vector<double>& targets);
std::vector<std::string> TargetCells(const ComparedRuns& compared,
                                     const std::vector<double>& targets);

// Runs that have the number.
size_t RunsWith(const ComparedRuns& compared, absl::string_view name);

// Whether a paradigm has more than one run.
bool AnyRepeated(const std::vector<ComparedRuns>& results);

// {"paradigm", "runs", "reached", "seconds", "final_accuracy", ...}: what the
// runs of each came to, as {"median", "min", "max"}; null: no run knows it.
// "reached" counts the runs that reached the target, the first one of several.
// "targets" has the seconds to each.
Json SummariesJson(const std::vector<ComparedRuns>& results);

// One run of a comparison that is repeated.
struct RepeatedRun {
  size_t option = 0;  // Which paradigm.
  size_t turn = 0;    // From 0.
  uint64_t seed = 0;
};

// In which order `options` paradigms run `repeat` times each: by turns, one run
// of each and then the next one of each, so that a machine that becomes slower
// is slower for all of them. Each turn has a seed, from `seed` on.
std::vector<RepeatedRun> ByTurns(size_t options, size_t repeat, uint64_t seed);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_COMPARED_RUNS_H_
