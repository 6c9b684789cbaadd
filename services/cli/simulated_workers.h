#ifndef PACELINE_SERVICES_CLI_SIMULATED_WORKERS_H_
#define PACELINE_SERVICES_CLI_SIMULATED_WORKERS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "services/cli/simulate_options.h"
#include "services/simulator/cluster_spec.h"

namespace paceline {

// The virtual workers and their links, out of --workers, --iteration-times,
// --profile, --jitter, --micro-batch-cost, --trace, --latency and --bandwidth:
// lists repeat until every worker has its value. Behind the workers come their
// other members of --in-flight. Reads the trace. NOT_FOUND if
// there is none; INVALID_ARGUMENT, naming the flag, for all else that is wrong.
// REQUIRES: the batch size is in its range.
absl::StatusOr<std::vector<WorkerSpec>> ParseSimulatedWorkers(
    const SimulateFlags& flags);

// --join, --leave and --crash, each "3@60s,w4@2m": by time, then by worker.
// INVALID_ARGUMENT, naming the flag, for a worker that there is not among
// `workers` (the names are good too), a time that is none, a worker that joins
// although it is there or leaves although it is not, and when nobody is there
// at the start.
absl::StatusOr<std::vector<MembershipChange>> ParseMembershipChanges(
    const SimulateFlags& flags, const std::vector<WorkerSpec>& workers);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SIMULATED_WORKERS_H_
