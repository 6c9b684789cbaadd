#include "services/coordinator/policy/round_ledger.h"

#include "common/check.h"

namespace paceline {

void RoundLedger::Ended(RoundId round, bool gathered) {
  const auto it = rounds_.find(round);
  CHECK(it != rounds_.end() && it->second.plans > 0);
  --it->second.plans;
  if (gathered) it->second.undrained = true;
  ForgetIfUnused(it);
}

void RoundLedger::Lost(RoundId round) {
  const auto it = rounds_.find(round);
  CHECK(it != rounds_.end() && it->second.plans > 0);
  --it->second.plans;
  ++it->second.unanswered;
}

bool RoundLedger::Answered(RoundId round, Closing fenced_at, bool taken) {
  const auto it = rounds_.find(round);
  CHECK(it != rounds_.end() && it->second.unanswered > 0);
  --it->second.unanswered;
  // A closing after the fence has drained it: the servers perform the two in
  // that order and take nothing in between.
  const bool held = taken && it->second.closed <= fenced_at;
  if (held) it->second.undrained = true;
  ForgetIfUnused(it);
  return held;
}

void RoundLedger::Drained(RoundId round, Closing closing) {
  const auto it = rounds_.find(round);
  if (it == rounds_.end()) return;
  it->second.closed = closing;
  it->second.undrained = false;
  ForgetIfUnused(it);
}

bool RoundLedger::Orphaned(RoundId round) const {
  const auto it = rounds_.find(round);
  return it != rounds_.end() && it->second.undrained && it->second.plans == 0;
}

std::vector<RoundId> RoundLedger::Undrained() const {
  std::vector<RoundId> undrained;
  for (const auto& [round, use] : rounds_) {
    if (use.undrained) undrained.push_back(round);
  }
  return undrained;
}

void RoundLedger::ForgetIfUnused(Rounds::iterator it) {
  const Use& use = it->second;
  if (use.plans == 0 && use.unanswered == 0 && !use.undrained) {
    rounds_.erase(it);
  }
}

}  // namespace paceline
