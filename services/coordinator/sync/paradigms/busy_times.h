#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_BUSY_TIMES_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_BUSY_TIMES_H_

#include <optional>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// BusyTimes knows how long each worker is busy with an iteration, from its
// release to its push: an exponentially weighted mean, to which the first
// measurement counts whole and each later one with the weight `alpha`. Time in
// which the worker waits does not count (algorithms.md 3.3).
//
// Every operation takes O(log workers). Thread-compatible.
class BusyTimes {
 public:
  // REQUIRES: 0 < alpha <= 1.
  explicit BusyTimes(double alpha);

  // So long the worker takes by what others have measured; more than 0.
  void Assume(WorkerId worker, double busy_s) { rows_[worker].busy_s = busy_s; }

  // The worker begins an iteration.
  void Released(absl::Time now, WorkerId worker);

  // The worker has pushed `share` of what it usually computes
  // (PushDone::share); its time counts in proportion. A share below a half is
  // not measured, for most of its time would be fixed costs, nor is an
  // iteration that was not released here.
  void Pushed(absl::Time now, WorkerId worker, double share);

  // The iteration has ended without a push, which is no measure of the pace.
  void Dropped(WorkerId worker);

  // The worker is gone. Nothing happens if it is unknown.
  void Forget(WorkerId worker) { rows_.erase(worker); }

  // The worker's busy time in seconds, greater than 0; nothing before it was
  // assumed or the first push was measured.
  std::optional<double> Of(WorkerId worker) const;

 private:
  struct Row {
    std::optional<absl::Time> released = std::nullopt;
    std::optional<double> busy_s = std::nullopt;
  };

  const double alpha_;
  absl::btree_map<WorkerId, Row> rows_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_BUSY_TIMES_H_
