#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_CGP_ACCUMULATORS_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_CGP_ACCUMULATORS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "services/coordinator/policy/action.h"
#include "services/coordinator/policy/types.h"

namespace paceline {

// The accumulators at the servers that CGP uses: one for each round of each
// group. It may be drained several times, once for the members that came in
// time and again for late ones. Every operation takes O(log accumulators).
// Thread-compatible.
class CgpAccumulators {
 public:
  // How many may be in use. The servers hold 16 at most (design.md 5); the rest
  // is for what lost workers and earlier paradigms leave behind.
  static constexpr size_t kMax = 14;

  // Those from `next` on are free.
  void Reset(RoundId next) { next_ = ToNumber(next); }

  // A fresh one, in use from its first plan on.
  RoundId Open() { return RoundId{next_++}; }

  // A push into it is planned.
  void Planned(RoundId round) { ++uses_[round].plans; }

  // The iteration of such a plan has ended; `gathered` if by its push.
  void Ended(RoundId round, bool gathered);

  // A late push has come: the next update has to drain this one too.
  void AddLate(RoundId round) { late_.insert(round); }
  bool any_late() const { return !late_.empty(); }

  // The late ones and `on_time`, all sorted and once; they count as drained.
  CloseRounds Drain(const absl::btree_set<RoundId>& on_time);

  size_t in_use() const { return uses_.size(); }

 private:
  struct Use {
    int64_t plans = 0;  // Of iterations that have not ended.
    bool gathered = false;
  };

  uint64_t next_ = 0;
  absl::btree_map<RoundId, Use> uses_;
  absl::btree_set<RoundId> late_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_CGP_ACCUMULATORS_H_
