#ifndef PACELINE_SERVICES_CLI_SIMULATED_WORKERS_H_
#define PACELINE_SERVICES_CLI_SIMULATED_WORKERS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "services/cli/simulate_flags.h"
#include "services/simulator/cluster_spec.h"

namespace paceline {

// The virtual workers and their links, out of --workers, --iteration-times,
// --profile, --jitter, --trace, --latency and --bandwidth: lists repeat until
// every worker has its value. Reads the trace. NOT_FOUND if there is none;
// INVALID_ARGUMENT, naming the flag, for all else that is wrong.
// REQUIRES: the batch size is in its range.
absl::StatusOr<std::vector<WorkerSpec>> ParseSimulatedWorkers(
    const SimulateFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SIMULATED_WORKERS_H_
