#include "services/coordinator/sync/paradigms/cgp/cgp_groups.h"

#include "common/check.h"

namespace paceline {

void CgpGroups::Exit(CgpGroupId id) {
  CgpGroup& group = groups_.at(id);
  CHECK(group.members > 0);
  --group.members;
  Tidy(id);
}

void CgpGroups::Tidy(CgpGroupId id) {
  const auto it = groups_.find(id);
  if (it == groups_.end()) return;
  if (it->second.members == 0 && it->second.at_rest()) groups_.erase(it);
}

absl::Time CgpGroups::NextLate() const {
  return late_.empty() ? absl::InfiniteFuture() : late_.begin()->first;
}

std::optional<CgpGroupId> CgpGroups::FirstLate(absl::Time now) const {
  if (NextLate() > now) return std::nullopt;
  return late_.begin()->second;
}

absl::btree_set<CgpGroupId> CgpGroups::DueWithin(absl::Time from,
                                                 absl::Time to) const {
  absl::btree_set<CgpGroupId> due;
  for (auto it = due_.lower_bound({from, CgpGroupId{0}});
       it != due_.end() && it->first <= to; ++it) {
    due.insert(it->second);
  }
  return due;
}

void CgpGroups::Index(CgpGroupId id, const CgpGroup& group) {
  if (!group.runs()) return;
  bases_.emplace(group.base, id);
  if (group.accumulator.has_value() && group.due != absl::InfiniteFuture()) {
    due_.emplace(group.due, id);
  }
  if (!group.waiting.empty() && group.late_at != absl::InfiniteFuture()) {
    late_.emplace(group.late_at, id);
  }
}

void CgpGroups::Unindex(CgpGroupId id, const CgpGroup& group) {
  if (!group.runs()) return;
  bases_.erase({group.base, id});
  due_.erase({group.due, id});
  late_.erase({group.late_at, id});
}

}  // namespace paceline
