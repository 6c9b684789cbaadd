#include "services/coordinator/sync/core/membership.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {

Membership::Membership(absl::Duration lease) : lease_(lease) {
  CHECK(lease > absl::ZeroDuration());
}

void Membership::Join(absl::Time now, WorkerId worker) {
  Member member;
  member.heard = now;
  member.indexed = now + lease_;
  CHECK(members_.emplace(worker, member).second);
  index_.emplace(member.indexed, worker);
}

void Membership::Leave(WorkerId worker) {
  const auto it = members_.find(worker);
  CHECK(it != members_.end());
  index_.erase({it->second.indexed, worker});
  members_.erase(it);
}

void Membership::Heard(absl::Time now, WorkerId worker) {
  members_.at(worker).heard = now;
}

void Membership::WaitsForServers(absl::Time now, WorkerId worker) {
  members_.at(worker).waited = now;
}

void Membership::SilentSince(absl::Time heard, WorkerId worker) {
  Member& member = members_.at(worker);
  index_.erase({member.indexed, worker});
  member.heard = heard;
  member.indexed = heard + lease_;
  index_.emplace(member.indexed, worker);
}

void Membership::AwaitAnew(absl::Time begin, WorkerId worker) {
  Member& member = members_.at(worker);
  member.heard = begin;
  if (member.opened != absl::InfiniteFuture()) member.opened = begin;
}

void Membership::GrantOpened(absl::Time now, WorkerId worker) {
  members_.at(worker).opened = now;
}

void Membership::GrantClosed(absl::Time now, WorkerId worker) {
  Member& member = members_.at(worker);
  CHECK(member.opened != absl::InfiniteFuture());
  member.iterations[member.pushes % kRemembered] = now - member.opened;
  ++member.pushes;
  member.opened = absl::InfiniteFuture();
  member.heard = now;
}

void Membership::GrantDropped(absl::Time now, WorkerId worker) {
  Member& member = members_.at(worker);
  member.opened = absl::InfiniteFuture();
  member.heard = now;
}

std::vector<Membership::Expired> Membership::Expire(absl::Time now) {
  std::vector<Expired> expired;
  while (!index_.empty() && index_.begin()->first <= now) {
    const WorkerId worker = index_.begin()->second;
    index_.erase(index_.begin());
    Member& member = members_.at(worker);
    const absl::Time lease_end = member.heard + lease_;
    const absl::Time stuck_at = StuckAt(member);
    if (lease_end <= now) {
      expired.push_back({worker, LossReason::kLeaseEnded});
    } else if (stuck_at <= now) {
      expired.push_back({worker, LossReason::kStuck});
    }
    // Also for the expired, should they be left members: looked at again, but
    // not within this loop.
    member.indexed =
        std::max(std::min(lease_end, stuck_at), now + absl::Nanoseconds(1));
    index_.emplace(member.indexed, worker);
  }
  std::sort(
      expired.begin(), expired.end(),
      [](const Expired& a, const Expired& b) { return a.worker < b.worker; });
  return expired;
}

absl::Time Membership::NextDeadline() const {
  return index_.empty() ? absl::InfiniteFuture() : index_.begin()->first;
}

absl::Time Membership::StuckAt(const Member& member) const {
  const absl::Time last = member.opened + 10 * lease_;
  if (member.pushes < 2) return last;
  const auto count = std::min<int64_t>(member.pushes, kRemembered);
  std::array<absl::Duration, kRemembered> sorted = member.iterations;
  const auto median = sorted.begin() + count / 2;
  std::nth_element(sorted.begin(), median, sorted.begin() + count);
  const absl::Time stuck = member.opened + std::max(lease_, 10 * *median);
  return std::max(stuck, std::min(last, member.waited + lease_));
}

}  // namespace paceline
