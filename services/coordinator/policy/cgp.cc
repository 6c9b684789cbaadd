#include "services/coordinator/policy/cgp.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/overloaded.h"

namespace paceline {

Cgp::Cgp(const CgpOptions& options)
    : options_(options),
      busy_(options.alpha),
      regrouper_({.beta = options.beta,
                  .every = options.regroup_every,
                  .drift = options.drift}),
      warmup_group_(groups_.NewId()),
      warmup_left_(options.warmup_rounds) {
  CHECK(options.warmup_rounds >= 1);
}

void Cgp::Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
                RoundId next_round, std::vector<Action>& actions) {
  Step step{at.now, at.version, actions};
  accumulators_.Reset(next_round);
  for (const AdoptedWorker& adopted : workers) {
    Member& member = members_[adopted.worker];
    member.group = warmup_group_;
    groups_.Enter(warmup_group_);
    groups_.Update(warmup_group_, [&](CgpGroup& group) {
      group.base = at.version;
      switch (adopted.phase) {
        case AdoptedWorker::Phase::kWaiting:
          group.waiting.insert(adopted.worker);
          break;
        case AdoptedWorker::Phase::kComputing:
          member.state = State::kAwaited;
          group.awaited.insert(adopted.worker);
          break;
        case AdoptedWorker::Phase::kIdle:
          member.state = State::kIdle;
          break;
      }
    });
  }
  Start(step, warmup_group_);
}

void Cgp::Apply(const Moment& at, const Event& event,
                std::vector<Action>& actions) {
  Step step{at.now, at.version, actions};
  std::visit(
      Overloaded{[&](const Joined& e) { Join(step, e.worker); },
                 [&](const Resumed& e) { Return(step, e.worker); },
                 [&](const GradientReady& e) { Plan(step, e); },
                 [&](const PushDone& e) { Pushed(step, e); },
                 [&](const Abandoned& e) { Dropped(step, e.worker); },
                 [&](const Left& e) { Remove(step, e.worker, /*gone=*/true); },
                 [&](const Idle& e) { Remove(step, e.worker, /*gone=*/false); },
                 [&](const paceline::Tick&) { Tick(step); },
                 [](const Flagged&) {}},
      event);
  Settle(step);
}

void Cgp::Join(Step& step, WorkerId worker) {
  // Its pace is not known yet: on its own until the next regrouping.
  const CgpGroupId group = warmup_left_ > 0 ? warmup_group_ : groups_.NewId();
  members_[worker] = {.group = group};
  groups_.Enter(group);
  Return(step, worker);
}

void Cgp::Plan(Step& step, const GradientReady& ready) {
  const Member& member = members_.at(ready.worker);
  const double weight = 1 / (1 + static_cast<double>(ready.staleness));
  if (ready.staleness > 0) {
    step.actions.push_back(
        Report{{DecisionKind::kWeighed, ready.worker, ready.staleness,
                static_cast<int64_t>(weight * 1e6)}});
  }
  step.actions.push_back(
      PlanPush{ready.worker, member.accumulator.has_value()
                                 ? PushPlan::Round(*member.accumulator, weight)
                                 : PushPlan::Immediate(weight)});
}

void Cgp::Pushed(Step& step, const PushDone& done) {
  const WorkerId worker = done.worker;
  Member& member = members_.at(worker);
  busy_.Pushed(step.now, worker, done.share);
  regrouper_.Pushed();
  const std::optional<RoundId> accumulator = member.accumulator;
  const bool gathered = EndPlan(member, /*gathered=*/true);
  if (member.state == State::kAwaited) {
    Arrive(step, worker, gathered);
    return;
  }
  CHECK(member.state == State::kFloating);
  --floating_;
  if (!gathered) {
    Return(step, worker);
    return;
  }
  member.state = State::kLate;
  late_.insert(worker);
  accumulators_.AddLate(*accumulator);
  step.actions.push_back(Report{{DecisionKind::kLatePush, worker}});
}

void Cgp::Dropped(Step& step, WorkerId worker) {
  Member& member = members_.at(worker);
  busy_.Dropped(worker);
  EndPlan(member, /*gathered=*/false);
  if (member.state == State::kAwaited) {
    Arrive(step, worker, /*gathered=*/false);
    return;
  }
  --floating_;
  Return(step, worker);
}

void Cgp::Remove(Step& step, WorkerId worker, bool gone) {
  Member& member = members_.at(worker);
  const CgpGroupId group = member.group;
  const State state = std::exchange(member.state, State::kIdle);
  busy_.Dropped(worker);
  EndPlan(member, /*gathered=*/false);
  if (gone) {
    busy_.Forget(worker);
    regrouper_.Forget(worker);
    members_.erase(worker);
  }
  late_.erase(worker);
  if (state == State::kFloating) --floating_;
  if (state == State::kAwaited || state == State::kWaiting) {
    groups_.Update(group, [worker](CgpGroup& g) {
      g.awaited.erase(worker);
      g.waiting.erase(worker);
    });
    // If it had nothing to wait for but this worker, or nobody to go on.
    if (!groups_.Of(group).runs()) Ready(step, group);
  }
  if (gone) groups_.Exit(group);
}

void Cgp::Tick(Step& step) {
  while (const auto group = groups_.FirstLate(step.now)) Float(step, *group);
  if (window_.open() && window_.closes_at() <= step.now && !AtBound(step)) {
    CloseWindow(step);
  }
}

void Cgp::Settle(Step& step) {
  // No group will adopt the late pushes.
  if (accumulators_.any_late() && !window_.open() && !groups_.any_runs()) {
    window_.Open(step.now, {});
  }
  // No push can come at this instant.
  if (window_.open() && !groups_.any_runs() && floating_ == 0) {
    CloseWindow(step);
  }
  held_ = window_.open() && AtBound(step);
}

bool Cgp::EndPlan(Member& member, bool gathered) {
  if (!member.accumulator.has_value()) return false;
  accumulators_.Ended(*member.accumulator, gathered);
  member.accumulator.reset();
  return gathered;
}

absl::Time Cgp::NextDeadline() const {
  const absl::Time late = groups_.NextLate();
  return window_.open() && !held_ ? std::min(late, window_.closes_at()) : late;
}

std::string Cgp::Describe() const {
  // Ten digits give back every millionth that the spec may have.
  const auto decimal = [](double value) {
    return absl::StrFormat("%.10g", value);
  };
  return absl::StrCat(
      "cgp:beta=", decimal(options_.beta), ",delta=", decimal(options_.delta),
      ",predictive=", options_.predictive ? "true" : "false", ",patience=",
      options_.patience.has_value() ? decimal(*options_.patience) : "inf",
      ",warmup_rounds=", options_.warmup_rounds,
      ",alpha=", decimal(options_.alpha),
      ",regroup_every=", options_.regroup_every,
      ",drift=", decimal(options_.drift),
      ",stale_weight=", options_.inverse_weight ? "inverse" : "none", ",s_max=",
      options_.s_max.has_value() ? absl::StrCat(*options_.s_max) : "none");
}

}  // namespace paceline
