#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_ROUND_LEDGER_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_ROUND_LEDGER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "services/coordinator/policy/types.h"

namespace paceline {

// What may lie in the accumulators at the servers: which rounds have plans
// open, and which hold gradients that no closing has drained. A policy closes
// the rounds whose pushes it sees; this tells the core about those that nobody
// else would close, because what they hold came from a worker that was lost.
//
// Every operation takes O(log rounds in use). Thread-compatible.
class RoundLedger {
 public:
  // A plan for the round was issued.
  void Issued(RoundId round) { ++rounds_[round].plans; }

  // A plan's iteration has ended; `gathered` if it pushed anything.
  void Ended(RoundId round, bool gathered);

  // The holder of a plan was lost. What it has pushed is known later.
  void Lost(RoundId round);

  // The servers have answered the fence that went out when `fenced_at` was the
  // last closing; `taken` if they had taken anything for the round. True if
  // that still lies there.
  bool Answered(RoundId round, Closing fenced_at, bool taken);

  // The closing was issued and drains the round, all earlier fences' leftovers
  // included.
  void Drained(RoundId round, Closing closing);

  // Holds gradients, and no plan is open whose push would have it closed.
  bool Orphaned(RoundId round) const;

  // All rounds that hold gradients, by id.
  std::vector<RoundId> Undrained() const;

 private:
  struct Use {
    int64_t plans = 0;       // Open, of members.
    int64_t unanswered = 0;  // Lost plans whose fences are not answered.
    Closing closed = 0;      // The last closing that drained it.
    bool undrained = false;
  };
  using Rounds = std::map<RoundId, Use>;

  void ForgetIfUnused(Rounds::iterator it);

  Rounds rounds_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_ROUND_LEDGER_H_
