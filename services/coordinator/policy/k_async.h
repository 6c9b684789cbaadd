#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_K_ASYNC_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_K_ASYNC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// Of what a round takes K.
enum class KAsyncMode : uint8_t {
  kWorkers,  // Gradients of K workers, who wait until it is closed.
  kBatches,  // Any K gradients; their workers go on right after the push.
};

// K-async and K-batch-async (Dutta et al., AISTATS 2018; algorithms.md 5.5): a
// round takes the next K gradients that are ready, of whatever version, and is
// applied as one update when they are pushed. Nobody is told to drop anything.
// K = 1 paces like ASP, K-async with K = workers like BSP.
//
// Our reading: when a round has its K, the next one begins to fill, also while
// they are pushed. At most kMaxRounds are open: then the newest one takes more
// than K. A round that nobody is left to complete does with what it has. Who
// joins takes part at once, but makes no round wait for more than it began for.
class KAsync final : public SyncPolicy {
 public:
  // The servers take 16. A push into a new round may reach one before the
  // closing of the oldest, and what an earlier policy left may be under way.
  static constexpr size_t kMaxRounds = 14;

  // REQUIRES: k >= 1.
  KAsync(KAsyncMode mode, int64_t k);

  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;

  // CloseRounds comes before the Releases that follow from it.
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }
  std::string Describe() const override;

 private:
  struct Round {
    int64_t size = 0;  // Gradients that it takes.
    int64_t planned = 0;
    int64_t pushing = 0;  // Of those, not done yet.
    int64_t gathered = 0;
    absl::btree_set<WorkerId> waiting;  // Have pushed into it. kWorkers.
  };
  using Rounds = absl::btree_map<RoundId, Round>;

  // Makes the worker compute.
  void GoOn(WorkerId worker, std::vector<Action>& actions);
  void Plan(const GradientReady& ready, std::vector<Action>& actions);
  // The round into which the next gradient goes.
  Rounds::iterator Filling();
  // The worker's iteration has ended; `pushed` if the servers have it.
  void End(WorkerId worker, bool pushed, std::vector<Action>& actions);
  void Remove(WorkerId worker, std::vector<Action>& actions);

  // Takes the worker out of the plans for a round; the end if it had none.
  Rounds::iterator TakePlan(WorkerId worker);
  // The newest round waits for no more than can still come.
  void Shrink();
  void CloseIfComplete(Rounds::iterator round, WorkerId cause,
                       std::vector<Action>& actions);
  void ReportWait(WorkerId worker, Rounds::const_iterator round,
                  std::vector<Action>& actions) const;

  const KAsyncMode mode_;
  const int64_t k_;

  // Every member that is not idle: the round in which it pushes or waits, 0
  // while it computes.
  absl::btree_map<WorkerId, RoundId> members_;
  Rounds rounds_;         // Open; all but the newest are full.
  uint64_t next_id_ = 0;  // Free, and every greater one.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_K_ASYNC_H_
