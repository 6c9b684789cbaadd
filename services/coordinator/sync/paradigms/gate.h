#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_GATE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_GATE_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "services/coordinator/sync/core/sync_view.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// A gate is a bound on the gap, with the workers that are held back until their
// gap is within it. Every operation takes O(log workers). Thread-compatible.
class Gate {
 public:
  // REQUIRES: bound >= 0, or the slowest worker would be held back.
  explicit Gate(int64_t bound) : bound_(bound) {}

  // Holds the worker until TakeCaughtUp() returns it.
  // REQUIRES: it counts, and its clock does not change meanwhile.
  void Hold(const SyncView& view, WorkerId worker) {
    held_.emplace(view.clocks().Of(worker), worker);
  }

  // The held worker with the smallest (clock, id) whose gap has come within the
  // bound, no longer held; nothing if there is none.
  std::optional<WorkerId> TakeCaughtUp(const SyncView& view) {
    while (!held_.empty()) {
      const auto [clock, worker] = *held_.begin();
      const bool member = view.Contains(worker);
      if (member && clock - view.clocks().Min() > bound_) break;
      held_.erase(held_.begin());
      if (member) return worker;  // It has not left meanwhile.
    }
    return std::nullopt;
  }

  // Lets it go, whatever its gap. False if it is not held.
  bool Take(const SyncView& view, WorkerId worker) {
    return view.Contains(worker) &&
           held_.erase({view.clocks().Of(worker), worker}) > 0;
  }

  int64_t bound() const { return bound_; }

 private:
  int64_t bound_;
  absl::btree_set<std::pair<WorkerClock, WorkerId>> held_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_GATE_H_
