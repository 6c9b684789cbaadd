#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_K_ASYNC_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_K_ASYNC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// K-async and K-batch-async (Dutta et al., AISTATS 2018; algorithms.md 5.5): a
// round takes the next K gradients that are ready, of whatever version, and is
// applied as one update when they are pushed. Nobody is told to drop anything.
// K = 1 paces like ASP, K-async with K = workers like BSP.
//
// Our reading: when a round has its K, the next one begins to fill, also while
// they are pushed. While the servers have no more rounds to give, the newest
// one takes more than K. A round that nobody is left to complete does with what
// it has. Who joins takes part at once, but makes no round wait for more than
// it began for.
class KAsync final : public SyncPolicy {
 public:
  // REQUIRES: k >= 1.
  KAsync(KAsyncMode mode, int64_t k);

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // CloseRounds comes before the Releases that follow from it.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{KAsyncOptions{mode_, k_}});
  }

 private:
  struct Round {
    int64_t size = 0;     // The number of gradients that it takes.
    int64_t planned = 0;  // The number of gradients planned into it.
    int64_t pushing = 0;  // The planned ones whose pushes are not done.
    // Workers that have pushed into it and wait for its closing (kWorkers).
    absl::btree_set<WorkerId> waiting;

    bool full() const { return planned >= size; }
  };
  using Rounds = absl::btree_map<RoundId, Round>;

  // Makes the worker compute.
  static void GoOn(WorkerId worker, std::vector<Action>& actions);
  // How many members are not idle.
  static int64_t Active(const SyncView& view);
  void Plan(const SyncView& view, const GradientReady& ready,
            std::vector<Action>& actions);
  // The round into which the next gradient goes.
  Rounds::iterator Filling(const SyncView& view);
  // The worker's iteration has ended; `pushed` if the servers have it.
  void End(const SyncView& view, WorkerId worker, bool pushed,
           std::vector<Action>& actions);
  void Remove(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions);

  // Takes the worker out of its round and gives that round, or rounds_.end() if
  // the worker had no plan. `pushed` says whether it has pushed into the round.
  Rounds::iterator TakePlan(WorkerId worker, bool pushed);
  // The newest round waits for no more than can still come.
  void Shrink(const SyncView& view);
  void CloseIfComplete(const SyncView& view, Rounds::iterator round,
                       WorkerId cause, std::vector<Action>& actions);
  void ReportWait(WorkerId worker, Rounds::const_iterator round,
                  std::vector<Action>& actions) const;

  const KAsyncMode mode_;
  const int64_t k_;

  // Maps a worker to the round into which it pushes or whose closing it awaits.
  absl::btree_map<WorkerId, RoundId> plans_;
  Rounds rounds_;         // The open rounds; all but the newest are full.
  uint64_t next_id_ = 0;  // This id and every greater one are free.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_K_ASYNC_H_
