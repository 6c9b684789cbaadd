#include "tests/services/coordinator/sync/core/fake_server.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {

bool FakeServer::Take(int block, const PushKey& push, const PushPlan& plan,
                      uint32_t samples) {
  const auto& [worker, iteration] = push;
  if (fenced_.contains(worker)) return false;
  Last& last = last_[worker];
  if (last.iteration < iteration) last = {iteration, samples, {}};
  CHECK(last.iteration == iteration);
  if (!last.blocks.insert(block).second) return true;
  if (plan.kind == PushPlan::Kind::kImmediate) {
    ++applied_[{block, push}];
  } else {
    gathered_[plan.round].push_back({block, push});
    most_rounds_ = std::max(most_rounds_, gathered_.size());
  }
  return true;
}

void FakeServer::Close(const CloseCommand& close) {
  CHECK(close.closing == closing_ + 1);
  closing_ = close.closing;
  for (const RoundId round : close.rounds) {
    const auto it = gathered_.find(round);
    if (it == gathered_.end()) continue;
    for (const auto& taken : it->second) ++applied_[taken];
    gathered_.erase(it);
  }
  while (!parked_.empty() && parked_.begin()->first <= closing_) {
    const auto node = parked_.extract(parked_.begin());
    node.mapped()();
  }
}

FenceAnswer FakeServer::Fence(WorkerId worker) {
  fenced_.insert(worker);
  const Last& last = last_[worker];
  return {.server = number_,
          .iteration = last.iteration,
          .blocks_taken = static_cast<uint32_t>(last.blocks.size()),
          .blocks = static_cast<uint32_t>(blocks_),
          .samples = last.samples};
}

void FakeServer::WhenClosed(Closing closing, std::function<void()> callback) {
  if (closing <= closing_) {
    callback();
  } else {
    parked_.emplace(closing, std::move(callback));
  }
}

int FakeServer::Applied(int block, const PushKey& push) const {
  const auto it = applied_.find({block, push});
  return it == applied_.end() ? 0 : it->second;
}

int FakeServer::AppliedAtSnapshot(int block, const PushKey& push) const {
  const auto it = snapshot_.find({block, push});
  return it == snapshot_.end() ? 0 : it->second;
}

}  // namespace paceline
