#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_PUT_OFF_ACTIONS_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_PUT_OFF_ACTIONS_H_

#include <deque>
#include <optional>

#include "services/coordinator/sync/core/round_ledger.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Of a Release or a PlanPush.
WorkerId WorkerOf(const Action& action);

// Releases and plans of pushes for rounds that would be too many at the
// servers, in the order in which a policy wanted them. Thread-compatible.
class PutOffActions {
 public:
  bool empty() const { return actions_.empty(); }

  // REQUIRES: a Release or a PlanPush whose plan names a round.
  void Add(const Action& action) { actions_.push_back(action); }
  // The worker's will not be done any more.
  void Cancel(WorkerId worker);
  // The first that can be done now, which is no longer among them.
  std::optional<Action> TakeNext(const RoundLedger& rounds);
  // All of them.
  std::deque<Action> TakeAll();

 private:
  std::deque<Action> actions_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_PUT_OFF_ACTIONS_H_
