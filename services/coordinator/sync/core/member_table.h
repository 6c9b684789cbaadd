#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_MEMBER_TABLE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_MEMBER_TABLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/fences.h"
#include "services/coordinator/sync/core/sample_dealer.h"
#include "services/coordinator/sync/core/sync_messages.h"

namespace paceline {

// The members of a job and the iteration that each of them computes or has
// computed last. Every operation takes O(log workers), but for those that list
// members. Thread-compatible.
class MemberTable {
 public:
  struct Member {
    bool computing = false;   // `grant` is open; otherwise it is the last one.
    bool asks = false;        // It waits for the plan of its push.
    bool abandons = false;    // It was told to drop the iteration.
    bool fills_wait = false;  // Its iteration does.
    bool resumed = false;  // It waits for the range for which it was resumed.
    // Samples that it gets where there are enough, and no wait to fill.
    uint32_t usual = 1;
    SampleWishes wishes;
    OpenGrant grant;
    absl::Time granted;
    int64_t term = 0;  // The term of the policy that released it.
  };

  // REQUIRES: the worker is no member.
  void Join(WorkerId worker, const SampleWishes& wishes);
  // Removes the member and gives what it was.
  // REQUIRES: the worker is a member.
  Member Leave(WorkerId worker);

  bool Contains(WorkerId worker) const { return members_.contains(worker); }
  // Null if the worker is no member. Valid until the next Join() or Leave().
  Member* Find(WorkerId worker);
  // REQUIRES: the worker is a member.
  const Member& Of(WorkerId worker) const { return members_.at(worker); }

  // The member whose open iteration that is. NOT_FOUND if the worker is no
  // member, FAILED_PRECONDITION if that iteration is not open.
  absl::StatusOr<Member*> FindComputing(WorkerId worker, Iteration iteration);
  // The same for a report of a push. It is also FAILED_PRECONDITION if the push
  // has no plan, and INVALID_ARGUMENT if the report names more samples than
  // were granted.
  absl::StatusOr<Member*> FindReporting(WorkerId worker,
                                        const PushReport& report);

  // There are no samples for the member.
  void SetIdle(WorkerId worker) { idle_.insert(worker); }
  bool any_idle() const { return !idle_.empty(); }
  // Ends the idleness of members, the lowest ids first, as far as the dealer
  // has ranges for them: beyond those for which members were resumed that still
  // wait for theirs.
  std::vector<WorkerId> Resume(SampleDealer& dealer);
  // The member has been released.
  void Released(Member& member);

  size_t size() const { return members_.size(); }
  std::vector<WorkerId> Ids() const;
  // The members that compute.
  absl::btree_set<WorkerId> Computing() const;
  // Of all open grants; nothing if one of them is of another term.
  std::optional<int64_t> SamplesOfTerm(int64_t term) const;

 private:
  // Until so many members wait for a range for which they were resumed.
  std::vector<WorkerId> ResumeFor(int64_t ranges);
  // Those for which there are samples, where each has a part. Who finds that
  // another one has taken them is idle again, and stays so until there is news.
  std::vector<WorkerId> ResumeParts(SampleDealer& dealer);
  void EndIdleness(WorkerId worker);

  absl::btree_map<WorkerId, Member> members_;
  absl::btree_set<WorkerId> idle_;
  int64_t resumed_ = 0;  // How many members are `resumed`.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_MEMBER_TABLE_H_
