#include "services/coordinator/policy/sync_switch.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {
namespace {

std::unique_ptr<SyncPolicy> MakeGood(const std::string& spec) {
  auto policy = MakePolicy(spec);
  CHECK(policy.ok());
  return *std::move(policy);
}

// With every parameter, where a spec within a spec can have them.
std::string Canonical(const std::string& spec) {
  std::string canonical = MakeGood(spec)->Describe();
  return absl::StrContains(canonical, ',') ? spec : canonical;
}

// Whose event it is, and whether the two paradigms may change at it.
struct Occasion {
  WorkerId worker{0};
  bool fits = true;
};

Occasion OccasionOf(const Event& event) {
  return std::visit(
      Overloaded{// Its plan is asked of the one that released it.
                 [](const GradientReady& e) {
                   return Occasion{e.worker, false};
                 },
                 // Comes with a push that is not told of yet.
                 [](const Flagged& e) {
                   return Occasion{e.worker, false};
                 },
                 [](const Tick&) {
                   return Occasion{WorkerId{0}, false};
                 },
                 [](const auto& e) { return Occasion{e.worker}; }},
      event);
}

}  // namespace

SyncSwitch::SyncSwitch(SyncSwitchOptions options)
    : options_(std::move(options)), inner_(MakeGood(options_.first)) {
  CHECK(0 <= options_.at_millionths && options_.at_millionths <= 1'000'000);
}

void SyncSwitch::Adopt(const Moment& at,
                       absl::Span<const AdoptedWorker> workers,
                       RoundId next_round, std::vector<Action>& actions) {
  next_id_ = ToNumber(next_round);
  for (const AdoptedWorker& adopted : workers) {
    workers_.emplace(adopted.worker, adopted.phase);
    if (adopted.straggler) stragglers_.insert(adopted.worker);
  }
  second_ = WantsSecond(at);
  Begin(at, actions);
}

void SyncSwitch::Apply(const Moment& at, const Event& event,
                       std::vector<Action>& actions) {
  Note(event);
  const Occasion occasion = OccasionOf(event);
  if (occasion.fits && WantsSecond(at) != second_) {
    // The one that goes need not hear of it: what it planned stays as it is.
    HandOver(at, occasion.worker, actions);
    return;
  }
  const size_t first = actions.size();
  inner_->Apply(at, event, actions);
  NoteActions(actions, first);
}

void SyncSwitch::Note(const Event& event) {
  std::visit(
      Overloaded{[&](const Left& e) {
                   workers_.erase(e.worker);
                   stragglers_.erase(e.worker);
                 },
                 [&](const Idle& e) { workers_[e.worker] = Phase::kIdle; },
                 [&](const Flagged& e) {
                   if (e.straggler) {
                     stragglers_.insert(e.worker);
                   } else {
                     stragglers_.erase(e.worker);
                   }
                 },
                 [](const GradientReady&) {}, [](const Tick&) {},
                 [&](const auto& e) { workers_[e.worker] = Phase::kWaiting; }},
      event);
}

void SyncSwitch::NoteActions(const std::vector<Action>& actions, size_t first) {
  const auto note_plan = [this](const PushPlan& plan) {
    if (plan.kind != PushPlan::Kind::kRound) return;
    next_id_ = std::max(next_id_, ToNumber(plan.round) + 1);
  };
  for (size_t i = first; i < actions.size(); ++i) {
    std::visit(Overloaded{[&](const Release& a) {
                            workers_[a.worker] = Phase::kComputing;
                            note_plan(a.plan);
                          },
                          [&](const PlanPush& a) { note_plan(a.plan); },
                          [](const auto&) {}},
               actions[i]);
  }
}

bool SyncSwitch::ShareReached(const Moment& at) const {
  if (at.samples_total == 0) return options_.at_millionths == 0;
  return static_cast<double>(at.samples_counted) * 1e6 >=
         static_cast<double>(options_.at_millionths) *
             static_cast<double>(at.samples_total);
}

bool SyncSwitch::WantsSecond(const Moment& at) const {
  return ShareReached(at) ||
         (options_.leaves_for_stragglers && !stragglers_.empty());
}

void SyncSwitch::HandOver(const Moment& at, WorkerId cause,
                          std::vector<Action>& actions) {
  second_ = !second_;
  const HandOverReason reason = !second_ ? HandOverReason::kNoStraggler
                                : ShareReached(at)
                                    ? HandOverReason::kShareReached
                                    : HandOverReason::kStraggler;
  actions.push_back(
      Report{{DecisionKind::kHandedOver, cause, static_cast<int64_t>(reason)}});
  actions.push_back(paceline::HandOver{});
  Begin(at, actions);
}

void SyncSwitch::Begin(const Moment& at, std::vector<Action>& actions) {
  inner_ = MakeGood(second_ ? options_.then : options_.first);
  std::vector<AdoptedWorker> adopted;
  for (const auto& [worker, phase] : workers_) {
    adopted.push_back({worker, phase, stragglers_.contains(worker)});
  }
  const size_t first = actions.size();
  inner_->Adopt(at, adopted, RoundId{next_id_}, actions);
  NoteActions(actions, first);
}

std::string SyncSwitch::Describe() const {
  return absl::StrCat(
      "syncswitch:first=", Canonical(options_.first),
      ",then=", Canonical(options_.then),
      ",at=", static_cast<double>(options_.at_millionths) * 1e-6,
      ",straggler=", options_.leaves_for_stragglers ? "leave" : "stay");
}

}  // namespace paceline
