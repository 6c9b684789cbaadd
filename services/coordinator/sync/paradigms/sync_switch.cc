#include "services/coordinator/sync/paradigms/sync_switch.h"

#include <optional>
#include <utility>
#include <variant>

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

}  // namespace

SyncSwitch::SyncSwitch(SyncSwitchOptions options)
    : options_(std::move(options)),
      inner_(MakePolicy(options_.first.paradigm)) {
  CHECK(0 <= options_.at_millionths && options_.at_millionths <= 1'000'000);
}

void SyncSwitch::Adopt(const SyncView& view, std::vector<Action>& actions) {
  second_ = WantsSecond(view);
  inner_ = MakePolicy((second_ ? options_.then : options_.first).paradigm);
  inner_->Adopt(view, actions);
}

void SyncSwitch::Apply(const SyncView& view, const Event& event,
                       std::vector<Action>& actions) {
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

bool SyncSwitch::ShareReached(const SyncView& view) const {
  if (view.samples_total() == 0) return options_.at_millionths == 0;
  return static_cast<double>(view.samples_counted()) * 1e6 >=
         static_cast<double>(options_.at_millionths) *
             static_cast<double>(view.samples_total());
}

bool SyncSwitch::WantsSecond(const SyncView& view) const {
  return ShareReached(view) ||
         (options_.leaves_for_stragglers && !view.stragglers().empty());
}

}  // namespace paceline
