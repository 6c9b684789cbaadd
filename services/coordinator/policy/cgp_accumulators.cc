#include "services/coordinator/policy/cgp_accumulators.h"

#include "common/check.h"

namespace paceline {

void CgpAccumulators::Ended(RoundId round, bool gathered) {
  const auto it = uses_.find(round);
  CHECK(it != uses_.end() && it->second.plans > 0);
  --it->second.plans;
  if (gathered) it->second.gathered = true;
  if (it->second.plans == 0 && !it->second.gathered) uses_.erase(it);
}

CloseRounds CgpAccumulators::Drain(const absl::btree_set<RoundId>& on_time) {
  late_.insert(on_time.begin(), on_time.end());
  const CloseRounds close{{late_.begin(), late_.end()}};
  late_.clear();
  for (const RoundId round : close.rounds) {
    const auto it = uses_.find(round);
    CHECK(it != uses_.end());
    it->second.gathered = false;
    if (it->second.plans == 0) uses_.erase(it);
  }
  return close;
}

}  // namespace paceline
