#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_MEMBERSHIP_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_MEMBERSHIP_H_

#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/decision.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Membership watches which members are alive. A member is given up when
//   - its lease ends: nothing was heard of it for one lease; or
//   - it is stuck: it is heard, but a grant has been open for longer than
//     max(lease, 10 x the median of its latest iterations), or longer than
//     10 x lease before its second push, when no median can be trusted yet. A
//     lease more from each time at which it said that it waits for parameter
//     servers, who are the ones to be suspected then, but 10 x lease in all.
// One configured time, the lease, gives all the others.
//
// Heard(), GrantOpened() and GrantClosed() take one look-up and write no index;
// each member is looked at once per lease. Thread-compatible; the caller's
// `now` never decreases.
class Membership {
 public:
  struct Expired {
    WorkerId worker;
    LossReason reason;  // kLeaseEnded or kStuck

    friend bool operator==(const Expired&, const Expired&) = default;
  };

  // `lease` is positive.
  explicit Membership(absl::Duration lease);

  // REQUIRES: `worker` is not a member.
  void Join(absl::Time now, WorkerId worker);

  // REQUIRES (these eight): `worker` is a member.
  void Leave(WorkerId worker);
  void Heard(absl::Time now, WorkerId worker);
  // It is in the middle of a pull, or of a push's acknowledgement.
  void WaitsForServers(absl::Time now, WorkerId worker);
  // The worker has just joined, and was last heard before that, at `heard`.
  void SilentSince(absl::Time heard, WorkerId worker);
  // It could not be heard for a while: its lease begins then, and so does the
  // iteration that it is in.
  void AwaitAnew(absl::Time begin, WorkerId worker);
  // An iteration begins. It is not a sign of life.
  void GrantOpened(absl::Time now, WorkerId worker);
  // The iteration's push has come, which is one.
  void GrantClosed(absl::Time now, WorkerId worker);

  // The iteration was dropped: a sign of life, but no measure of its duration.
  void GrantDropped(absl::Time now, WorkerId worker);

  // Members to give up at `now`, by id. They stay members until Leave().
  std::vector<Expired> Expire(absl::Time now);

  // When to call Expire(), InfiniteFuture without members. It may turn out that
  // nobody has expired then; the deadline is a later one afterwards.
  absl::Time NextDeadline() const;

 private:
  // Enough for a median that one slow iteration does not move.
  static constexpr int kRemembered = 15;

  struct Member {
    absl::Time heard;
    absl::Time opened = absl::InfiniteFuture();  // When the open grant was.
    absl::Time waited = absl::InfinitePast();    // For servers, last.
    absl::Time indexed;  // The time of its entry in `index_`.
    int64_t pushes = 0;
    std::array<absl::Duration, kRemembered> iterations;  // A ring.
  };

  absl::Time StuckAt(const Member& member) const;

  const absl::Duration lease_;
  absl::flat_hash_map<WorkerId, Member> members_;
  // Holds each member once, at a time not after its earliest deadline. Leases
  // are only ever prolonged and a grant is allowed at least one lease, so an
  // entry stays valid without being moved until its time comes.
  std::set<std::pair<absl::Time, WorkerId>> index_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_MEMBERSHIP_H_
