#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ROUND_CLOSING_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ROUND_CLOSING_H_

#include <cstdint>
#include <vector>

#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// Closes the round and says with how many pushes; nothing happens if it has
// gathered none. `cause` is whose event it was.
inline void CloseGathered(const SyncView& view, RoundId round, WorkerId cause,
                          std::vector<Action>& actions) {
  const int64_t gathered = view.rounds().PushesIn(round);
  if (gathered == 0) return;
  actions.push_back(Report{{DecisionKind::kRoundClosed, cause,
                            static_cast<int64_t>(ToNumber(round)), gathered}});
  actions.push_back(CloseRounds{{round}});
}

// Says that the worker waits for that round until so many members are done.
inline void ReportWait(RoundId next, int64_t awaited, WorkerId worker,
                       std::vector<Action>& actions) {
  actions.push_back(Report{{DecisionKind::kWaitForRound, worker,
                            static_cast<int64_t>(ToNumber(next)), awaited}});
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ROUND_CLOSING_H_
