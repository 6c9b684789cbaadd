#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_GATE_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_GATE_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "services/coordinator/policy/clocks.h"
#include "services/coordinator/policy/types.h"

namespace paceline {

// The workers' clocks with a bound on the gap, and the workers that are held
// back until their gap is within it. Every operation takes O(log workers).
// Thread-compatible.
class Gate {
 public:
  // REQUIRES: bound >= 0, or the slowest worker would be held back.
  explicit Gate(int64_t bound) : bound_(bound) {}

  // As Clocks has them; who leaves or becomes idle is no longer held.
  void Join(WorkerId worker) { clocks_.Join(worker); }
  void Leave(WorkerId worker);
  void SetIdle(WorkerId worker);
  void SetActive(WorkerId worker) { clocks_.SetActive(worker); }
  int64_t Advance(WorkerId worker) { return clocks_.Advance(worker); }

  // Holds the worker until TakeCaughtUp() returns it.
  // REQUIRES: it counts, and its clock does not change meanwhile.
  void Hold(WorkerId worker) { held_.emplace(clocks_.Of(worker), worker); }

  // The held worker with the smallest (clock, id) whose gap has come within the
  // bound, no longer held; nothing if there is none.
  std::optional<WorkerId> TakeCaughtUp();

  int64_t bound() const { return bound_; }
  const Clocks& clocks() const { return clocks_; }

 private:
  int64_t bound_;
  Clocks clocks_;
  absl::btree_set<std::pair<WorkerClock, WorkerId>> held_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_GATE_H_
