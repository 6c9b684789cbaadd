#include "services/coordinator/run/course/server_commands.h"

#include <algorithm>
#include <iterator>

namespace paceline {
namespace {

template <class Value>
std::optional<Value> Lookup(const std::map<uint64_t, Value>& values,
                            uint64_t key) {
  const auto it = values.find(key);
  if (it == values.end()) return std::nullopt;
  return it->second;
}

}  // namespace

ServerCommands::ServerCommands(size_t shards, absl::Time now)
    : done_(shards), since_(shards, now) {}

uint64_t ServerCommands::Next(absl::Time now) {
  for (size_t i = 0; i < done_.size(); ++i) {
    if (done_[i].sequence == last_) since_[i] = now;
  }
  return ++last_;
}

uint64_t ServerCommands::NextFence(absl::Time now, WorkerId worker) {
  fences_.emplace(last_ + 1, worker);
  return Next(now);
}

uint64_t ServerCommands::NextSnapshot(absl::Time now, int64_t snapshot) {
  snapshots_.emplace(last_ + 1, snapshot);
  return Next(now);
}

uint64_t ServerCommands::NextClosing(absl::Time now, Closing closing) {
  closings_.emplace(last_ + 1, closing);
  return Next(now);
}

void ServerCommands::Done(absl::Time now, int shard, uint64_t sequence) {
  Carried& done = done_[shard];
  if (sequence <= done.sequence) return;
  done.sequence = sequence;
  done.closing = std::max(done.closing, ClosingUpTo(sequence));
  const auto later = snapshots_.upper_bound(sequence);
  if (later != snapshots_.begin()) {
    done.snapshot = std::max(done.snapshot, std::prev(later)->second);
  }
  since_[shard] = now;
  all_done_ = std::ranges::min_element(done_, {}, &Carried::sequence)->sequence;
}

std::vector<NumberedCommand> ServerCommands::Reissue(absl::Time now,
                                                     int shard) {
  since_[shard] = now;
  std::vector<NumberedCommand> commands;
  for (auto it = kept_.upper_bound(done_[shard].sequence); it != kept_.end();
       ++it) {
    commands.push_back(it->second);
  }
  return commands;
}

std::optional<WorkerId> ServerCommands::FenceOf(uint64_t sequence) const {
  return Lookup(fences_, sequence);
}

std::optional<int64_t> ServerCommands::SnapshotOf(uint64_t sequence) const {
  return Lookup(snapshots_, sequence);
}

Closing ServerCommands::ClosingUpTo(uint64_t sequence) const {
  const auto after = closings_.upper_bound(sequence);
  return after == closings_.begin() ? 0 : std::prev(after)->second;
}

void ServerCommands::Prune() {
  closings_.erase(closings_.begin(), closings_.upper_bound(all_done_));
  fences_.erase(fences_.begin(), fences_.upper_bound(all_done_));
  snapshots_.erase(snapshots_.begin(), snapshots_.upper_bound(all_done_));
  kept_.erase(kept_.begin(), kept_.upper_bound(all_done_));
}

std::optional<int> ServerCommands::Stuck(absl::Time now,
                                         absl::Duration limit) const {
  for (size_t i = 0; i < done_.size(); ++i) {
    if (done_[i].sequence < last_ && now - since_[i] > limit) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

}  // namespace paceline
