#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_SWITCH_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_SWITCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

struct SyncSwitchOptions {
  std::string first = "bsp";  // Specs that MakePolicy() takes.
  std::string then = "asp";
  int64_t at_millionths = 50'000;  // Share of the samples under `first`.
  // Whether `then` also takes over while a straggler is flagged.
  bool leaves_for_stragglers = true;
};

// Sync-Switch (Li et al., ICDCS 2021; algorithms.md 5.10): the first share of
// the work under one paradigm, the rest under another; synchronous first, for
// the order matters to the accuracy. With `straggler=leave` the second one also
// takes over while a straggler slows the first down, and hands back when none
// is left (our reading of the paper's online policies, known from memory only).
//
// Hands over at the next push, join or leave after the cause, never between a
// worker's GradientReady and the plan of its push. Whoever takes over begins
// anew, as after a switch of the job's paradigm by hand.
class SyncSwitch final : public SyncPolicy {
 public:
  // REQUIRES: both specs are good; 0 <= at_millionths <= 1'000'000.
  explicit SyncSwitch(SyncSwitchOptions options);

  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override { return inner_->NextDeadline(); }
  std::string Describe() const override;
  PolicyView View() const override { return inner_->View(); }

 private:
  using Phase = AdoptedWorker::Phase;

  // What the event says about the workers.
  void Note(const Event& event);
  // What the actions from index `first` on say about workers and rounds.
  void NoteActions(const std::vector<Action>& actions, size_t first);

  bool ShareReached(const Moment& at) const;
  // Whether the second paradigm should be in charge.
  bool WantsSecond(const Moment& at) const;
  void HandOver(const Moment& at, WorkerId cause, std::vector<Action>& actions);
  // Makes the paradigm in charge anew and lets it take over.
  void Begin(const Moment& at, std::vector<Action>& actions);

  const SyncSwitchOptions options_;
  bool second_ = false;  // Is in charge.
  std::unique_ptr<SyncPolicy> inner_;
  absl::btree_map<WorkerId, Phase> workers_;
  absl::btree_set<WorkerId> stragglers_;
  uint64_t next_id_ = 0;  // No plan has named it or one above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_SWITCH_H_
