#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

// Whose event it is, if the two paradigms may change at it.
std::optional<WorkerId> CauseOf(const Event& event) {
  return std::visit(
      Overloaded{
          // Its plan is asked of the one that released the worker.
          [](const GradientReady&) { return std::optional<WorkerId>(); },
          // It comes with a push that is not told of yet.
          [](const Flagged&) { return std::optional<WorkerId>(); },
          [](const Tick&) { return std::optional<WorkerId>(); },
          [](const auto& e) { return std::optional<WorkerId>(e.worker); }},
      event);
}

// Sync-Switch (Li et al., ICDCS 2021; algorithms.md 5.10): the first share of
// the work under one paradigm, the rest under another; synchronous first, for
// the order matters to the accuracy. Two policies of the paper for stragglers
// can be chosen for that first share (our reading, known from memory only).
// With `straggler=leave` the second paradigm also takes over while a straggler
// slows the first down, and hands back when none is left. With `straggler=drop`
// rounds do without as many workers as there are stragglers, whoever is late
// (KSyncMode::kBackup), until none is left. Neither is the default: among
// workers that are unequal for good, it would hold from the first measurements
// on.
//
// Hands over at the next push, join or leave after the cause, never between a
// worker's GradientReady and the plan of its push. Whoever takes over begins
// anew, as after a switch of the job's paradigm by hand.
class SyncSwitch final : public SyncPolicy {
 public:
  // REQUIRES: 0 <= at_millionths <= 1'000'000.
  explicit SyncSwitch(SyncSwitchOptions options)
      : options_(std::move(options)),
        inner_(MakePolicy(options_.first.paradigm)) {
    CHECK(0 <= options_.at_millionths && options_.at_millionths <= 1'000'000);
  }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    in_charge_ = Wanted(view);
    inner_ = Make(in_charge_);
    inner_->Adopt(view, actions);
  }

  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    const std::optional<WorkerId> cause = CauseOf(event);
    if (!cause.has_value() || !MayHandOver(view) ||
        Wanted(view) == in_charge_) {
      inner_->Apply(view, event, actions);
      return;
    }
    // The one that goes need not hear of the event: what it planned stays as it
    // is. Adopt() is called next.
    actions.push_back(Report{{DecisionKind::kHandedOver, *cause,
                              static_cast<int64_t>(ReasonNow(view))}});
    actions.push_back(HandOver{});
  }

  absl::Time NextDeadline() const override { return inner_->NextDeadline(); }
  std::optional<RoundId> ClosesNext() const override {
    return inner_->ClosesNext();
  }
  std::string Describe() const override { return FormatParadigm(options_); }
  PolicyView View() const override {
    PolicyView view = inner_->View();
    view.gathers_all = false;  // The other one may be in charge soon.
    return view;
  }

 private:
  // Which policy decides.
  struct Charge {
    bool second = false;
    int64_t dropped = 0;  // Workers that the first one does without.

    friend bool operator==(const Charge&, const Charge&) = default;
  };

  bool ShareReached(const SyncView& view) const {
    if (view.samples_total() == 0) return options_.at_millionths == 0;
    return static_cast<double>(view.samples_counted()) * 1e6 >=
           static_cast<double>(options_.at_millionths) *
               static_cast<double>(view.samples_total());
  }

  // Stragglers come and go, and each time a round of before may stay open,
  // which is memory at the servers: the last one is over first.
  bool MayHandOver(const SyncView& view) const {
    return ShareReached(view) || view.rounds().EarlierTermsAreOver();
  }

  Charge Wanted(const SyncView& view) const {
    if (ShareReached(view)) return {.second = true};
    const auto stragglers = static_cast<int64_t>(view.stragglers().size());
    switch (options_.stragglers) {
      case SwitchForStragglers::kLeave:
        return {.second = stragglers > 0};
      case SwitchForStragglers::kStay:
        return {};
      case SwitchForStragglers::kDrop:
        return {.dropped = stragglers};
    }
    return {};
  }

  std::unique_ptr<SyncPolicy> Make(const Charge& charge) const {
    if (charge.second) return MakePolicy(options_.then.paradigm);
    if (charge.dropped == 0) return MakePolicy(options_.first.paradigm);
    return MakePolicy(
        KSyncOptions{.mode = KSyncMode::kBackup, .b = charge.dropped});
  }

  // Why it hands over to what is wanted now.
  HandOverReason ReasonNow(const SyncView& view) const {
    if (in_charge_.second) return HandOverReason::kNoStraggler;
    if (ShareReached(view)) return HandOverReason::kShareReached;
    if (options_.stragglers != SwitchForStragglers::kDrop) {
      return HandOverReason::kStraggler;
    }
    return view.stragglers().empty() ? HandOverReason::kNobodyDropped
                                     : HandOverReason::kStragglersDropped;
  }

  const SyncSwitchOptions options_;
  Charge in_charge_;
  std::unique_ptr<SyncPolicy> inner_;
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const SyncSwitchOptions& options) {
  return std::make_unique<SyncSwitch>(options);
}

}  // namespace paceline
