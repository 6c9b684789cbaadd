#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_BSP_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_BSP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// Bulk synchronous parallel (algorithms.md 5.1): a round takes one push of
// every member, is then applied as one update, and the next round begins.
//
// Who joins or resumes while a round is open takes part from the next one on
// and holds nobody up before. Who leaves or becomes idle is awaited no longer,
// which may complete the round. Pushes under plans older than the Adopt are
// awaited like others but belong to no round of this policy: which round they
// gathered in, if any, only those know who keep the plans.
class Bsp final : public SyncPolicy {
 public:
  // Opens `next_round` for all who wait, also while others still compute.
  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;

  // CloseRounds comes before the Releases into the next round. A round into
  // which nobody pushed is not closed.
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }
  std::string Describe() const override { return "bsp"; }
  PolicyView View() const override { return {.threshold = 0}; }

 private:
  // The worker waits for the next round, which opens if nobody is awaited.
  void Wait(WorkerId worker, std::vector<Action>& actions);

  // The worker is out of everything, which may complete the round.
  void Remove(WorkerId worker, std::vector<Action>& actions);

  // Closes the open round, if it gathered a push, and opens the next one, if
  // anybody waits. `cause` is whose event it was.
  void Turn(WorkerId cause, std::vector<Action>& actions);
  void OpenNext(std::vector<Action>& actions);

  // Who computes, and whether under the open round's plan.
  absl::btree_map<WorkerId, bool> awaited_;
  absl::btree_set<WorkerId> waiting_;

  RoundId open_{0};       // The round that was opened last.
  uint64_t next_id_ = 0;  // Free, and every greater one.
  int64_t gathered_ = 0;  // Pushes in the open round since it was opened.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_BSP_H_
