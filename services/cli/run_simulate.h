#ifndef PACELINE_SERVICES_CLI_RUN_SIMULATE_H_
#define PACELINE_SERVICES_CLI_RUN_SIMULATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "services/cli/simulate_flags.h"

namespace paceline {

struct SimulateOutput {
  std::string text;      // The table, or the JSON document {"runs": [...]}.
  bool complete = true;  // No run came to a standstill.
};

// One run per paradigm, on the same virtual cluster with the same luck. The
// errors are those of ParseSimulateOptions() (simulate_options.h).
absl::StatusOr<SimulateOutput> RunSimulate(const SimulateFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_RUN_SIMULATE_H_
