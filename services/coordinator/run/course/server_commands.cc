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

ServerCommands::ServerCommands(size_t servers, absl::Time now)
    : done_(servers), since_(servers, now) {}

uint64_t ServerCommands::Next(absl::Time now) {
  for (size_t i = 0; i < done_.size(); ++i) {
    if (done_[i] == last_) since_[i] = now;
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

void ServerCommands::Done(absl::Time now, int server, uint64_t sequence) {
  if (sequence <= done_[server]) return;
  done_[server] = sequence;
  since_[server] = now;
  all_done_ = *std::min_element(done_.begin(), done_.end());
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
}

std::optional<int> ServerCommands::Stuck(absl::Time now,
                                         absl::Duration limit) const {
  for (size_t i = 0; i < done_.size(); ++i) {
    if (done_[i] < last_ && now - since_[i] > limit) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

}  // namespace paceline
