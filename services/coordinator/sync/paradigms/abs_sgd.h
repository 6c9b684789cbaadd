#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ABS_SGD_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ABS_SGD_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// ABS-SGD (arXiv 2308.15164; only its abstract could be read: this is our
// reading, algorithms.md 5.16): a round takes one push of every member, of as
// much as the member has computed when the first one has done a whole batch (a
// push of less, of a tail that was dealt again, is just its part of the round);
// the others are then told to push what they have. Whoever has pushed goes on
// into the next round at once, on the weights without this one: the delay is
// always 1. Nobody enters the round after the next before this one is closed.
//
// Who joins, resumes, or comes from a plan older than the Adopt enters the
// newest round, and if that has its whole batch, is told at once to push what
// it will have: one micro-batch.
class AbsSgd final : public SyncPolicy {
 public:
  // Cuts a batch into at least `pieces` micro-batches.  REQUIRES: pieces >= 1.
  explicit AbsSgd(int pieces);

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // Whoever pushes is released before its round is closed, so that the last one
  // too computes on the weights without it; who waited for the closing, after.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{AbsSgdOptions{pieces_}});
  }

 private:
  struct Round {
    RoundId id{0};
    absl::btree_set<WorkerId> computing;
    // Somebody has pushed a whole batch: the others are told to push theirs.
    bool whole = false;
  };

  void EnterNewest(WorkerId worker, std::vector<Action>& actions);
  void OpenFor(WorkerId worker, std::vector<Action>& actions);
  static void AskForPart(WorkerId worker, const Round& round,
                         std::vector<Action>& actions);

  void Pushed(const PushDone& done, std::vector<Action>& actions);
  // Takes the worker out of everything: it computes and waits no more.
  void Remove(WorkerId worker);
  // Closes the rounds for which nobody computes any more. `cause` is whose
  // event it was.
  void CloseComplete(const SyncView& view, WorkerId cause,
                     std::vector<Action>& actions);

  const int pieces_;
  std::deque<Round> rounds_;  // The open ones: none, one or two.
  absl::btree_set<WorkerId>
      waiting_;           // They have pushed into the newer of two.
  uint64_t next_id_ = 0;  // It is free, and so is every greater one.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ABS_SGD_H_
