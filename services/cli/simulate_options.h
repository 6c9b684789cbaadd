#ifndef PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_
#define PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/cli/simulate_flags.h"
#include "services/simulator/cluster_spec.h"

namespace paceline {

// What `paceline simulate` was asked to do.
struct SimulateOptions {
  std::vector<std::string> paradigms;  // One run each; at least one.
  ClusterSpec cluster;
  bool json = false;
};

// Reads the trace, if there is one. NOT_FOUND if it does not exist;
// INVALID_ARGUMENT, naming the flag, for the first that is wrong, contradicts
// another one or would take too long to run.
absl::StatusOr<SimulateOptions> ParseSimulateOptions(
    const SimulateFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_
