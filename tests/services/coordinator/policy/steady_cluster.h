#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_STEADY_CLUSTER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_STEADY_CLUSTER_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// What became of a run; one entry for each worker.
struct SteadyRun {
  std::vector<int64_t> pushes;
  std::vector<absl::Duration> waited;  // From push to release.
  int64_t max_gap = 0;                 // At any push.
};

// Runs workers 0, 1, ... that take exactly `iteration_times` for each
// iteration, with no other cost, from 0 to `horizon` inclusive; both count in
// `unit`. Pushes at one instant come in the order of the workers.
//
// Times add up in double precision. With whole numbers (of nanoseconds, say)
// that is exact. With fractions, which instants are one is left to rounding:
// so it was in the simulator that the published tables are from.
SteadyRun RunSteady(SyncPolicy& policy,
                    absl::Span<const double> iteration_times, double horizon,
                    absl::Duration unit);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_STEADY_CLUSTER_H_
