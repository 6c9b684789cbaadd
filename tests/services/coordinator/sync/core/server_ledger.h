#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SERVER_LEDGER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SERVER_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "services/coordinator/sync/core/sync_messages.h"

namespace paceline {

// One push: whose, and which.
using PushKey = std::pair<WorkerId, Iteration>;

// What a parameter server holds, in the plainest way: how many of its blocks
// have applied each push. Rounds gather pushes and closings drain them.
class ServerLedger {
 public:
  explicit ServerLedger(uint32_t blocks) : blocks_(blocks) {}

  uint32_t blocks() const { return blocks_; }
  // Its last closing.
  Closing closing() const { return closing_; }
  // The rounds that it has accumulators for, and what they have gathered.
  const std::map<RoundId, std::vector<PushKey>>& gathered() const {
    return gathered_;
  }
  bool fenced(WorkerId worker) const { return fenced_.contains(worker); }
  // How many blocks have applied the push.
  uint32_t Applied(const PushKey& push) const {
    const auto it = applied_.find(push);
    return it == applied_.end() ? 0 : it->second;
  }

  // One block of the push.
  void Take(const PushKey& push, const PushPlan& plan) {
    if (plan.kind == PushPlan::Kind::kRound) {
      gathered_[plan.round].push_back(push);
      DrainIfWhole();
    } else {
      ++applied_[push];
    }
  }
  // It drains the round as soon as it has all of it, whatever it is told then.
  void Announce(const AnnounceCommand& announce) {
    if (announce.closing != closing_ + 1) return;
    announced_ = announce;
    DrainIfWhole();
  }
  void Close(const CloseCommand& close) {
    closing_ = close.closing;
    announced_.reset();
    for (const RoundId round : close.rounds) Drain(round);
  }
  void Fence(WorkerId worker) { fenced_.insert(worker); }

 private:
  void Drain(RoundId round) {
    for (const PushKey& push : gathered_[round]) ++applied_[push];
    gathered_.erase(round);
  }
  void DrainIfWhole() {
    if (!announced_.has_value()) return;
    const auto it = gathered_.find(announced_->round);
    if (it == gathered_.end()) return;
    const size_t whole = static_cast<size_t>(announced_->gradients) * blocks_;
    if (it->second.size() == whole) Drain(announced_->round);
  }

  const uint32_t blocks_;
  Closing closing_ = 0;
  std::optional<AnnounceCommand> announced_;
  std::map<PushKey, uint32_t> applied_;
  std::map<RoundId, std::vector<PushKey>> gathered_;
  std::set<WorkerId> fenced_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SERVER_LEDGER_H_
