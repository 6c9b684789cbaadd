#ifndef PACELINE_SERVICES_CLI_RUN_SIMULATE_H_
#define PACELINE_SERVICES_CLI_RUN_SIMULATE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/simulate_options.h"

namespace paceline {

struct SimulateOutput {
  // The table, or the JSON document {"runs": [...]}, of the runs that ended.
  std::string text;
  // The first failure: of a run (ABORTED: it came to a standstill, and is in
  // `text` as far as it came), or of writing the page.
  absl::Status status;
};

// One run per paradigm, on the same virtual cluster with the same luck; with
// --repeat several, and those with the same seed have the same luck. They
// share nothing and run beside each other, as many as the machine has cores; of
// each that trained `note`, if not null, gets a line when it has ended, one
// call at a time. `command`, as it was typed, stands on the page of --plot.
//
// The errors of ParseSimulateOptions() and, of a page that cannot be drawn or
// written, FAILED_PRECONDITION, all before any run.
absl::StatusOr<SimulateOutput> RunSimulate(
    const SimulateFlags& flags, const std::string& command,
    const std::function<void(absl::string_view)>& note);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_RUN_SIMULATE_H_
