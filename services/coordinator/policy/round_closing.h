#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_ROUND_CLOSING_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_ROUND_CLOSING_H_

#include <cstdint>
#include <vector>

#include "services/coordinator/policy/action.h"

namespace paceline {

// Closes a round that took `gathered` pushes, and says so; nothing if it took
// none. `cause` is whose event it was.
inline void CloseGathered(RoundId round, int64_t gathered, WorkerId cause,
                          std::vector<Action>& actions) {
  if (gathered == 0) return;
  actions.push_back(Report{{DecisionKind::kRoundClosed, cause,
                            static_cast<int64_t>(ToNumber(round)), gathered}});
  actions.push_back(CloseRounds{{round}});
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_ROUND_CLOSING_H_
