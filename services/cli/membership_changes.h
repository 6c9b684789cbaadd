#ifndef PACELINE_SERVICES_CLI_MEMBERSHIP_CHANGES_H_
#define PACELINE_SERVICES_CLI_MEMBERSHIP_CHANGES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "services/cli/simulate_flags.h"
#include "services/simulator/cluster_spec.h"

namespace paceline {

// --join, --leave and --crash, each "3@60s,w4@2m": by time, then by worker.
// INVALID_ARGUMENT, naming the flag, for a worker that there is not among
// `workers` (the names are good too), a time that is none, a worker that joins
// although it is there or leaves although it is not, and when nobody is there
// at the start.
absl::StatusOr<std::vector<MembershipChange>> ParseMembershipChanges(
    const SimulateFlags& flags, const std::vector<WorkerSpec>& workers);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_MEMBERSHIP_CHANGES_H_
