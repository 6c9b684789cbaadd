#include "services/coordinator/sync/core/round_ledger.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {

int64_t RoundLedger::PlansOf(RoundId round) const {
  const auto it = rounds_.find(round);
  return it == rounds_.end() ? 0 : it->second.plans;
}

int64_t RoundLedger::PushesIn(RoundId round) const {
  const auto it = rounds_.find(round);
  return it == rounds_.end() ? 0 : it->second.pushes;
}

int64_t RoundLedger::SamplesIn(absl::Span<const RoundId> rounds) const {
  int64_t samples = 0;
  for (const RoundId round : rounds) {
    const auto it = rounds_.find(round);
    if (it != rounds_.end()) samples += it->second.samples;
  }
  return samples;
}

bool RoundLedger::HoldsAll(RoundId round) const {
  return std::ranges::all_of(rounds_, [round](const auto& entry) {
    const auto& [id, use] = entry;
    return !use.leftovers && (id == round || !use.undrained());
  });
}

bool RoundLedger::MayHold(RoundId round) const {
  const auto it = rounds_.find(round);
  return it != rounds_.end() &&
         (it->second.undrained() || it->second.unanswered > 0);
}

bool RoundLedger::EndsWithClosing(RoundId round) const {
  const auto it = rounds_.find(round);
  return performed_.empty() && it != rounds_.end() && it->second.plans == 0 &&
         it->second.unanswered == 0;
}

void RoundLedger::Name(RoundId round) {
  next_ = std::max(next_, RoundId{ToNumber(round) + 1});
}

void RoundLedger::Ended(RoundId round) {
  const auto it = Find(round);
  CHECK(it->second.plans > 0);
  --it->second.plans;
  Settle(it);
}

void RoundLedger::Pushed(RoundId round, absl::Span<const SampleRange> counted) {
  const auto it = Find(round);
  CHECK(it->second.plans > 0);
  --it->second.plans;
  ++it->second.pushes;
  Count(it, counted);
}

void RoundLedger::Lost(RoundId round) {
  const auto it = Find(round);
  CHECK(it->second.plans > 0);
  --it->second.plans;
  ++it->second.unanswered;
}

bool RoundLedger::Answered(RoundId round, Closing fenced_at, bool taken,
                           absl::Span<const SampleRange> counted) {
  const auto it = Find(round);
  CHECK(it->second.unanswered > 0);
  --it->second.unanswered;
  // A closing after the fence has drained it: the servers perform the two in
  // that order and take nothing in between.
  const bool held = taken && it->second.closed <= fenced_at;
  if (held) {
    it->second.leftovers = true;
    Count(it, counted);
  }
  Settle(it);
  return held;
}

void RoundLedger::Drained(RoundId round, Closing closing) {
  const auto it = rounds_.find(round);
  if (it == rounds_.end()) return;
  it->second.closed = closing;
  it->second.pushes = 0;
  it->second.leftovers = false;
  it->second.counted.clear();
  it->second.samples = 0;
  Settle(it);
}

void RoundLedger::Performed(int server, Closing closing) {
  Closing& performed = performed_.at(static_cast<size_t>(server));
  performed = std::max(performed, closing);
  absl::erase_if(rounds_, [this](const auto& entry) {
    return !entry.second.in_use() && IsPerformed(entry.second.closed);
  });
}

std::vector<RoundId> RoundLedger::TakeOrphans() {
  std::vector<RoundId> orphans;
  for (const RoundId round : orphans_) {
    const auto it = rounds_.find(round);
    if (it != rounds_.end() && it->second.orphan()) orphans.push_back(round);
  }
  orphans_.clear();
  return orphans;
}

std::vector<RoundId> RoundLedger::Undrained() const {
  std::vector<RoundId> undrained;
  for (const auto& [round, use] : rounds_) {
    if (use.undrained()) undrained.push_back(round);
  }
  return undrained;
}

std::vector<SampleRange> RoundLedger::Gathered() const {
  std::vector<SampleRange> gathered;
  for (const auto& [round, use] : rounds_) {
    gathered.insert(gathered.end(), use.counted.begin(), use.counted.end());
  }
  return gathered;
}

RoundLedger::Rounds::iterator RoundLedger::Find(RoundId round) {
  const auto it = rounds_.find(round);
  CHECK(it != rounds_.end());
  return it;
}

void RoundLedger::Count(Rounds::iterator it,
                        absl::Span<const SampleRange> counted) {
  for (const SampleRange& range : counted) {
    if (range.size() == 0) continue;
    it->second.counted.push_back(range);
    it->second.samples += range.size();
  }
}

void RoundLedger::Settle(Rounds::iterator it) {
  const Use& use = it->second;
  if (use.orphan()) orphans_.insert(it->first);
  if (!use.in_use() && IsPerformed(use.closed)) rounds_.erase(it);
}

bool RoundLedger::IsPerformed(Closing closing) const {
  return std::all_of(
      performed_.begin(), performed_.end(),
      [closing](Closing performed) { return performed >= closing; });
}

}  // namespace paceline
