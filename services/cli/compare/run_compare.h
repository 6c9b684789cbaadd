#ifndef PACELINE_SERVICES_CLI_COMPARE_RUN_COMPARE_H_
#define PACELINE_SERVICES_CLI_COMPARE_RUN_COMPARE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/cli/run_simulate.h"
#include "services/cli/simulate_options.h"

namespace paceline {

// The flags of `paceline compare` as they were typed.
struct CompareFlags : SimulateFlags {
  CompareFlags();  // They always train, and each rule with several seeds.

  std::vector<double> rates;         // None: --learning-rate alone.
  std::vector<std::string> momenta;  // None: that of --optimizer alone.
  std::string at_time;               // Empty: when the first has the target.
};

// Makes `command` fill `flags`, with help and examples.
void AddCompareFlags(CLI::App& command, CompareFlags& flags);

// What a line of progress says behind a run that has ended, "3/48, about 12m
// left", when `ended` of `all` runs took `elapsed`. REQUIRES: one has ended.
std::string ProgressOf(size_t ended, size_t all, absl::Duration elapsed);

// Trains with every rule at every rate and momentum, with several seeds each,
// and compares the rules at their best ones. `note` gets a line for each run,
// `now` is asked how long they take, `command` stands on the page of --plot,
// which shows the rules that are compared: curves of all seeds, timelines and
// histograms of the first.
//
// The errors of RunSimulate(); and INVALID_ARGUMENT for a wrong grid, several
// targets and more runs than anybody could wait for.
absl::StatusOr<SimulateOutput> RunCompare(
    CompareFlags flags, const std::string& command,
    const std::function<void(absl::string_view)>& note,
    const std::function<absl::Time()>& now);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_COMPARE_RUN_COMPARE_H_
