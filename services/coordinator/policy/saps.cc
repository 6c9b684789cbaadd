#include "services/coordinator/policy/saps.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"

namespace paceline {
namespace {

constexpr int64_t kFreshPushes = 5;

int64_t Millionths(double weight) {
  return static_cast<int64_t>(weight * 1e6 + 0.5);
}

}  // namespace

int64_t Saps::S() const {
  const auto peers = static_cast<int64_t>(members_.size()) - 1;
  if (options_.s.has_value()) return *options_.s;
  const int64_t usual = std::max<int64_t>(1, 2 * peers);
  return std::min(usual, options_.s_max.value_or(usual));
}

int64_t Saps::SMax() const { return options_.s_max.value_or(3 * S()); }

void Saps::Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
                 RoundId /*next_round*/, std::vector<Action>& actions) {
  for (const AdoptedWorker& adopted : workers) members_[adopted.worker] = {};
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == AdoptedWorker::Phase::kWaiting) {
      GoOn(at, adopted.worker, actions);
    } else if (adopted.phase == AdoptedWorker::Phase::kComputing) {
      // Since when is not known; its lag counts from here.
      members_[adopted.worker].base = at.version;
      watched_.emplace(at.version, adopted.worker);
    }
  }
}

void Saps::Apply(const Moment& at, const Event& event,
                 std::vector<Action>& actions) {
  std::visit(Overloaded{[&](const Joined& e) {
                          members_[e.worker] = {};
                          GoOn(at, e.worker, actions);
                        },
                        [&](const Resumed& e) { GoOn(at, e.worker, actions); },
                        [&](const Abandoned& e) {
                          StopWatching(e.worker);
                          GoOn(at, e.worker, actions);
                        },
                        [&](const GradientReady& e) { PlanPushOf(e, actions); },
                        [&](const PushDone& e) {
                          StopWatching(e.worker);
                          if (options_.mode == SapsMode::kRefresh) {
                            // Its own update is counted in at.version.
                            const Version own = e.taken ? 1 : 0;
                            const Version base = members_.at(e.worker).base;
                            // 0 also for a push under a plan for a round.
                            Judge(e.worker,
                                  std::max<int64_t>(0, at.version - own - base),
                                  actions);
                          }
                          GoOn(at, e.worker, actions);
                        },
                        [&](const Left& e) {
                          StopWatching(e.worker);
                          members_.erase(e.worker);
                        },
                        [&](const Idle& e) { StopWatching(e.worker); },
                        [](const auto&) {}},
             event);
  // That worker's push is counted in at.version already, but not told of.
  if (std::holds_alternative<Flagged>(event)) return;
  if (options_.mode == SapsMode::kRefresh) RefreshLagging(at, actions);
}

void Saps::GoOn(const Moment& at, WorkerId worker,
                std::vector<Action>& actions) {
  members_.at(worker).base = at.version;
  if (options_.mode == SapsMode::kRefresh) {
    watched_.emplace(at.version, worker);
    actions.push_back(
        Release{worker, PushPlan::Immediate(), options_.micro_batches});
  } else {
    actions.push_back(Release{worker, PushPlan::Ask()});
  }
}

void Saps::StopWatching(WorkerId worker) {
  watched_.erase({members_.at(worker).base, worker});
}

void Saps::RefreshLagging(const Moment& at, std::vector<Action>& actions) {
  const int64_t s = S();
  while (!watched_.empty() && at.version - watched_.begin()->first >= s) {
    const auto [base, worker] = *watched_.begin();
    watched_.erase(watched_.begin());
    Judge(worker, at.version - base, actions);
    actions.push_back(
        Report{{DecisionKind::kRefreshed, worker, at.version - base, s}});
    actions.push_back(Refresh{worker});
  }
}

void Saps::Judge(WorkerId worker, int64_t lag, std::vector<Action>& actions) {
  Member& member = members_.at(worker);
  const int64_t s = S();
  if (lag >= s) {
    member.fresh_pushes = 0;
    if (member.straggler) return;
    member.straggler = true;
    actions.push_back(Report{{DecisionKind::kLags, worker, lag, s}});
  } else if (member.straggler) {
    member.fresh_pushes = 2 * lag <= s ? member.fresh_pushes + 1 : 0;
    if (member.fresh_pushes < kFreshPushes) return;
    member.straggler = false;
    actions.push_back(Report{{DecisionKind::kLagsNoMore, worker, lag, s}});
  }
}

void Saps::PlanPushOf(const GradientReady& ready,
                      std::vector<Action>& actions) {
  Member& member = members_.at(ready.worker);
  Judge(ready.worker, ready.staleness, actions);
  const PushPlan plan = options_.mode == SapsMode::kDamp
                            ? Damped(ready.staleness)
                            : OrDropped(member, ready.staleness);
  if (plan.kind == PushPlan::Kind::kDiscard) {
    const int64_t limit = options_.mode == SapsMode::kDamp ? SMax() : S();
    actions.push_back(Report{
        {DecisionKind::kTooStale, ready.worker, ready.staleness, limit}});
  } else if (plan.weight < 1) {
    actions.push_back(Report{{DecisionKind::kWeighed, ready.worker,
                              ready.staleness, Millionths(plan.weight)}});
  }
  actions.push_back(PlanPush{ready.worker, plan});
}

PushPlan Saps::Damped(int64_t staleness) const {
  const int64_t s = S();
  if (staleness <= s) return PushPlan::Immediate();
  if (staleness > SMax()) return PushPlan::Discard();
  return PushPlan::Immediate(static_cast<double>(s) /
                             static_cast<double>(staleness));
}

PushPlan Saps::OrDropped(Member& member, int64_t staleness) const {
  const int64_t s = S();
  if (staleness > s && ++member.drops <= options_.starve_limit) {
    return PushPlan::Discard();
  }
  member.drops = 0;
  if (staleness <= s) return PushPlan::Immediate();
  return PushPlan::Immediate(static_cast<double>(s) /
                             static_cast<double>(staleness));
}

std::string Saps::Describe() const {
  const auto or_auto = [](const std::optional<int64_t>& value) {
    return value.has_value() ? absl::StrCat(*value) : std::string("auto");
  };
  const std::string s = absl::StrCat(",s=", or_auto(options_.s));
  switch (options_.mode) {
    case SapsMode::kRefresh:
      return absl::StrCat("saps:mode=refresh", s,
                          ",micro_batches=", options_.micro_batches);
    case SapsMode::kDamp:
      return absl::StrCat("saps:mode=damp", s,
                          ",s_max=", or_auto(options_.s_max));
    case SapsMode::kDrop:
      return absl::StrCat("saps:mode=drop", s,
                          ",starve_limit=", options_.starve_limit);
  }
  return "";
}

}  // namespace paceline
