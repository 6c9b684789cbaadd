#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SYNC_SWITCH_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SYNC_SWITCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

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
  // REQUIRES: 0 <= at_millionths <= 1'000'000.
  explicit SyncSwitch(SyncSwitchOptions options);

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override { return inner_->NextDeadline(); }
  std::string Describe() const override { return FormatParadigm(options_); }
  PolicyView View() const override { return inner_->View(); }

 private:
  bool ShareReached(const SyncView& view) const;
  // Whether the second paradigm should be in charge.
  bool WantsSecond(const SyncView& view) const;

  const SyncSwitchOptions options_;
  bool second_ = false;  // The second paradigm is in charge.
  std::unique_ptr<SyncPolicy> inner_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SYNC_SWITCH_H_
