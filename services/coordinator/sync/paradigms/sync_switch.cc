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
// the order matters to the accuracy. With `straggler=leave` the second one also
// takes over while a straggler slows the first down, and hands back when none
// is left (our reading of the paper's online policies, known from memory only).
// That is not the default: among workers that are unequal for good it would
// mean the second paradigm from the first measurements on.
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
    second_ = WantsSecond(view);
    inner_ = MakePolicy((second_ ? options_.then : options_.first).paradigm);
    inner_->Adopt(view, actions);
  }

  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    const std::optional<WorkerId> cause = CauseOf(event);
    if (!cause.has_value() || WantsSecond(view) == second_) {
      inner_->Apply(view, event, actions);
      return;
    }
    // The one that goes need not hear of the event: what it planned stays as it
    // is. Adopt() is called next.
    const HandOverReason reason = second_ ? HandOverReason::kNoStraggler
                                  : ShareReached(view)
                                      ? HandOverReason::kShareReached
                                      : HandOverReason::kStraggler;
    actions.push_back(Report{
        {DecisionKind::kHandedOver, *cause, static_cast<int64_t>(reason)}});
    actions.push_back(HandOver{});
  }

  absl::Time NextDeadline() const override { return inner_->NextDeadline(); }
  std::string Describe() const override { return FormatParadigm(options_); }
  PolicyView View() const override { return inner_->View(); }

 private:
  bool ShareReached(const SyncView& view) const {
    if (view.samples_total() == 0) return options_.at_millionths == 0;
    return static_cast<double>(view.samples_counted()) * 1e6 >=
           static_cast<double>(options_.at_millionths) *
               static_cast<double>(view.samples_total());
  }

  // Whether the second paradigm should be in charge.
  bool WantsSecond(const SyncView& view) const {
    return ShareReached(view) ||
           (options_.leaves_for_stragglers && !view.stragglers().empty());
  }

  const SyncSwitchOptions options_;
  bool second_ = false;  // The second paradigm is in charge.
  std::unique_ptr<SyncPolicy> inner_;
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const SyncSwitchOptions& options) {
  return std::make_unique<SyncSwitch>(options);
}

}  // namespace paceline
