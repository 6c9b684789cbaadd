#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_K_SYNC_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_K_SYNC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// K-sync and K-batch-sync (Dutta et al., AISTATS 2018; algorithms.md 5.5), and
// backup workers (Chen et al. 2016; 5.4): a round takes the first gradients
// that are ready, all of the same version, and is applied as one update when
// they are pushed. Everybody else is told to drop the iteration and begins anew
// with the next round. A gradient that is ready too late is discarded.
//
// Our reading: who joins, resumes, or answers late takes part in the open round
// while that has room, but never makes it wait for more than it was opened for.
// Neither does a push under a plan older than the Adopt count for a round.
class KSync final : public SyncPolicy {
 public:
  // REQUIRES: number >= 1, for kBackup >= 0.
  KSync(KSyncMode mode, int64_t number);

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // CloseRounds comes before the Releases into the next round.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{KSyncOptions{mode_, number_}});
  }

 private:
  void Plan(const GradientReady& ready, std::vector<Action>& actions);
  void End(const SyncView& view, const PushDone& done,
           std::vector<Action>& actions);
  // The worker is out of everything, which may fill the round.
  void Remove(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions);

  // The worker goes on in the open round, if that has room, or waits for the
  // next one.
  void GoOn(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions);
  void Wait(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions);

  // How many gradients a round takes to which `contributors` can contribute.
  int64_t SizeFor(size_t contributors) const;
  // A gradient that was planned into the open round does not come.
  void ReturnSlot();
  // The open round waits for no more than can still come.
  void Shrink(const SyncView& view);
  bool Full() const { return planned_ >= size_; }
  void DropOthers(std::vector<Action>& actions);
  // Closes the open round, if it is complete, and opens the next one, if
  // anybody waits. `cause` is whose event it was.
  void TurnIfComplete(const SyncView& view, WorkerId cause,
                      std::vector<Action>& actions);
  void OpenNext(const SyncView& view, std::vector<Action>& actions);

  const KSyncMode mode_;
  const int64_t number_;

  // A worker that computes and is in neither of these sets computes what no
  // round will take.
  absl::btree_set<WorkerId> candidates_;  // They compute for the open round.
  absl::btree_set<WorkerId> pushing_;     // They are planned into it.

  RoundId open_{0};       // The round that was opened last.
  uint64_t next_id_ = 0;  // This id and every greater one are free.
  int64_t size_ = 0;      // The number of gradients that the open round takes.
  int64_t planned_ = 0;   // The number of gradients planned into it.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_K_SYNC_H_
