#include "services/coordinator/sync/core/clocks.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {

void Clocks::Join(WorkerId worker) {
  const WorkerClock clock = Floor();
  CHECK(members_.emplace(worker, Member{clock, true}).second);
  active_.emplace(clock, worker);
}

void Clocks::Leave(WorkerId worker) {
  const auto it = members_.find(worker);
  CHECK(it != members_.end());
  if (it->second.active) StopCounting(worker, it->second.clock);
  members_.erase(it);
}

void Clocks::SetIdle(WorkerId worker) {
  Member& member = members_.at(worker);
  if (!member.active) return;
  StopCounting(worker, member.clock);
  member.active = false;
}

void Clocks::StopCounting(WorkerId worker, WorkerClock clock) {
  last_min_ = Min();
  active_.erase({clock, worker});
}

void Clocks::SetActive(WorkerId worker) {
  Member& member = members_.at(worker);
  if (member.active) return;
  member.clock = std::max(member.clock, Floor());
  member.active = true;
  active_.emplace(member.clock, worker);
}

int64_t Clocks::Advance(WorkerId worker) {
  Member& member = members_.at(worker);
  CHECK(member.active);
  active_.erase({member.clock, worker});
  ++member.clock;
  active_.emplace(member.clock, worker);
  return member.clock - Min();
}

int64_t Clocks::GapAfterAdvance(WorkerId worker) const {
  const WorkerClock after = Of(worker) + 1;
  auto slowest = active_.begin();
  if (slowest->second == worker) ++slowest;
  return slowest == active_.end() ? 0 : after - std::min(slowest->first, after);
}

void Clocks::SetEqual() {
  WorkerClock level = last_min_;
  for (const auto& [worker, member] : members_) {
    level = std::max(level, member.clock);
  }
  active_.clear();
  for (auto& [worker, member] : members_) {
    member.clock = level;
    if (member.active) active_.emplace(level, worker);
  }
  last_min_ = level;
}

WorkerClock Clocks::Of(WorkerId worker) const {
  return members_.at(worker).clock;
}

}  // namespace paceline
