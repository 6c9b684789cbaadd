#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_POOL_DEMAND_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_POOL_DEMAND_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/types/span.h"
#include "services/coordinator/fleet/assignment.h"

namespace paceline {

// More pools than these are not told of: callers choose the names.
inline constexpr size_t kPoolsMax = 100;

// How many workers of each pool its jobs would use, for whoever scales pools:
// the maxima of all jobs that may use it, or their minima where a job has no
// maximum and takes what there is. A job may use the pools that it names; one
// that names none those where a connected worker suits it. Pools of connected
// workers that nobody wants are there with 0. Jobs that wait for workers count,
// as do those that are interrupted and go on by themselves; one that is about
// to stop does not.
std::map<std::string, int> PoolDemand(
    absl::Span<const AssignableWorker> workers,
    absl::Span<const AssignableJob> jobs);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_POOL_DEMAND_H_
