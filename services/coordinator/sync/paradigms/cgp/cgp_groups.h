#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_GROUPS_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// The name of a group, which is never reused.
enum class CgpGroupId : int64_t {};

// A group of CGP and its round. It *runs* while it awaits members, is *ready*
// until its update is made, and is at rest when nobody of it is released.
struct CgpGroup {
  // Its members, without those that are late or idle: they compute for its
  // round, or wait to be released into the next one.
  absl::btree_set<WorkerId> awaited;
  absl::btree_set<WorkerId> waiting;
  int64_t members = 0;  // All of them, whatever they do.
  bool ready = false;

  // The rest is about the group's present round.
  std::optional<RoundId> accumulator;  // None: pushes are applied at once.
  int64_t gathered = 0;  // The number of pushes in the accumulator.
  Version base = 0;      // The version when its members were released.
  // The busy time of the slowest member whose pace is known; 0 if there is
  // none.
  absl::Duration period;
  // When the round is predicted to be complete, if the period is known.
  absl::Time due = absl::InfiniteFuture();
  // Members that have not pushed by then are late.
  absl::Time late_at = absl::InfiniteFuture();

  bool runs() const { return !awaited.empty(); }
  bool at_rest() const { return !runs() && !ready; }
};

// All groups, with indexes of those that run. Every operation takes
// O(log workers), but for those that take a number of groups.
// Thread-compatible.
class CgpGroups {
 public:
  // Names a group, which is made when its first member enters.
  CgpGroupId NewId() { return CgpGroupId{next_++}; }

  void Enter(CgpGroupId id) { ++groups_[id].members; }
  void Exit(CgpGroupId id);

  // Forgets the group if it is at rest and has no members.
  void Tidy(CgpGroupId id);

  bool Contains(CgpGroupId id) const { return groups_.contains(id); }
  const CgpGroup& Of(CgpGroupId id) const { return groups_.at(id); }
  size_t size() const { return groups_.size(); }

  // Changes a group by calling `change` on it, and keeps the indexes.
  template <typename Change>
  void Update(CgpGroupId id, const Change& change) {
    CgpGroup& group = groups_.at(id);
    Unindex(id, group);
    change(group);
    Index(id, group);
  }

  // NextLate() is when the first running group for which somebody waits gets
  // late members; InfiniteFuture if none will have any. FirstLate() is that
  // group, if it has them at `now`.
  absl::Time NextLate() const;
  std::optional<CgpGroupId> FirstLate(absl::Time now) const;

  // The running groups with an accumulator that are due in [from, to].
  absl::btree_set<CgpGroupId> DueWithin(absl::Time from, absl::Time to) const;

  bool any_runs() const { return !bases_.empty(); }
  // The oldest version that a running group computes with.
  // REQUIRES: one runs.
  Version oldest_base() const { return bases_.begin()->first; }

 private:
  void Index(CgpGroupId id, const CgpGroup& group);
  void Unindex(CgpGroupId id, const CgpGroup& group);

  int64_t next_ = 0;
  absl::btree_map<CgpGroupId, CgpGroup> groups_;
  // These index the running groups.
  absl::btree_set<std::pair<absl::Time, CgpGroupId>> due_;
  absl::btree_set<std::pair<absl::Time, CgpGroupId>> late_;
  absl::btree_set<std::pair<Version, CgpGroupId>> bases_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_GROUPS_H_
