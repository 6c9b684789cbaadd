#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_PACE_TABLE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_PACE_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/types.h"
#include "services/coordinator/sync/paradigms/dssp_controller.h"

namespace paceline {

// Table A of DSSP: the latest push and interval of every worker that counts,
// recorded at every push (D4), and who of them is the slowest. Every operation
// takes O(log workers). Thread-compatible.
class PaceTable {
 public:
  explicit PaceTable(IntervalKind kind) : kind_(kind) {}

  // A worker of which nothing is known.  REQUIRES: it is not in the table.
  void Add(WorkerId worker, WorkerClock clock);

  // Forgets the worker, if it is in the table.
  void Remove(WorkerId worker);

  // The worker was released, or has pushed and now stands at `clock`.
  // REQUIRES: it is in the table; `now` never decreases.
  void Released(absl::Time now, WorkerId worker);
  void Pushed(absl::Time now, WorkerId worker, WorkerClock clock);

  // The worker's times; nothing while its interval is unknown, which is before
  // its second push, or for kBusy before the first one that was released here.
  // REQUIRES: the worker is in the table.
  std::optional<PushTimes> Of(WorkerId worker) const;

  // The slowest worker: among those with the smallest clock the one with the
  // largest interval, where an unknown interval is larger than all others; of
  // several the one with the lowest id (D5).
  // REQUIRES: the table is not empty.
  WorkerId Slowest() const { return std::get<WorkerId>(*by_slowness_.begin()); }

 private:
  struct Row {
    WorkerClock clock = 0;
    std::optional<int64_t> last_push_ns = std::nullopt;
    std::optional<int64_t> released_ns = std::nullopt;
    std::optional<int64_t> interval_ns = std::nullopt;
  };
  using Slowness = std::tuple<WorkerClock, int64_t, WorkerId>;

  static Slowness SlownessOf(WorkerId worker, const Row& row);

  IntervalKind kind_;
  std::map<WorkerId, Row> rows_;
  absl::btree_set<Slowness> by_slowness_;  // The slowest first.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_PACE_TABLE_H_
