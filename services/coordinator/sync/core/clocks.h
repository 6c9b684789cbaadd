#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_CLOCKS_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_CLOCKS_H_

#include <cstdint>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// The workers' clocks with their minimum and maximum, each operation in
// O(log workers). Workers that are idle keep their clock but count neither for
// the minimum nor for the maximum. The minimum never falls, also not over a
// time in which nobody counts. Thread-compatible.
class Clocks {
 public:
  // Adds a member at the smallest clock of those who count; if none does, at
  // the smallest clock when last one did, at first 0.
  // REQUIRES: `worker` is not a member.
  void Join(WorkerId worker);

  // Removes a member.  REQUIRES: `worker` is a member.
  void Leave(WorkerId worker);

  // Takes an idle worker out of the minimum, and back in at the larger of its
  // own clock and the minimum (the last one, if nobody counts), so that its
  // return lowers nobody's bound. Both do nothing when it is so already.
  void SetIdle(WorkerId worker);
  void SetActive(WorkerId worker);

  // Gives every member the largest clock of all, as a switch of paradigm does.
  void SetEqual();

  // Counts one push and returns the worker's gap after it.
  // REQUIRES: `worker` counts.
  int64_t Advance(WorkerId worker);

  WorkerClock Of(WorkerId worker) const;

  // The smallest and the largest clock of the workers who count.
  // REQUIRES: there is one.
  WorkerClock Min() const { return active_.begin()->first; }
  WorkerClock Max() const { return active_.rbegin()->first; }
  bool AnyActive() const { return !active_.empty(); }

  // The gap that Advance() would return.  REQUIRES: `worker` counts.
  int64_t GapAfterAdvance(WorkerId worker) const;

  // Clock minus Min().  REQUIRES: `worker` counts.
  int64_t Gap(WorkerId worker) const { return Of(worker) - Min(); }

 private:
  struct Member {
    WorkerClock clock = 0;
    bool active = true;
  };

  // The smallest clock at which a member may begin to count.
  WorkerClock Floor() const { return AnyActive() ? Min() : last_min_; }
  void StopCounting(WorkerId worker, WorkerClock clock);

  absl::flat_hash_map<WorkerId, Member> members_;
  absl::btree_set<std::pair<WorkerClock, WorkerId>> active_;
  // The minimum at the time when the last member stopped to count.
  WorkerClock last_min_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_CLOCKS_H_
