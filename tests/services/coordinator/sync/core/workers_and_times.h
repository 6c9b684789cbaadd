// The workers and the clock of tests that need no more than a few of them.
#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_WORKERS_AND_TIMES_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_WORKERS_AND_TIMES_H_

#include "absl/time/time.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

inline constexpr WorkerId kA{0};
inline constexpr WorkerId kB{1};
inline constexpr WorkerId kC{2};

inline absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_WORKERS_AND_TIMES_H_
