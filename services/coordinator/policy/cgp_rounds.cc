// What Cgp does with its groups' rounds: from a member's arrival over the
// window and its update to the next round.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "common/check.h"
#include "services/coordinator/policy/cgp.h"

namespace paceline {
namespace {

// Whole nanoseconds, as clocks have them.
absl::Duration ToDuration(double seconds) {
  return absl::Nanoseconds(std::llround(seconds * 1e9));
}

absl::Duration Times(absl::Duration duration, double factor) {
  return ToDuration(absl::ToDoubleSeconds(duration) * factor);
}

}  // namespace

void Cgp::Arrive(Step& step, WorkerId worker, bool gathered) {
  Member& member = members_.at(worker);
  member.state = State::kWaiting;
  groups_.Update(member.group, [&](CgpGroup& group) {
    group.awaited.erase(worker);
    group.waiting.insert(worker);
    group.gathered += gathered ? 1 : 0;
  });
  if (!groups_.Of(member.group).runs()) Ready(step, member.group);
  ReportWait(step, worker);
}

void Cgp::ReportWait(Step& step, WorkerId worker) {
  const Member& member = members_.at(worker);
  if (member.state != State::kWaiting) return;
  const CgpGroup& group = groups_.Of(member.group);
  Decision why{DecisionKind::kWaitForGroup, worker,
               static_cast<int64_t>(group.awaited.size())};
  if (group.ready && AtBound(step)) {
    why = {DecisionKind::kWaitForStaleGroup, worker,
           step.version - groups_.oldest_base(), *options_.s_max};
  } else if (group.ready) {
    // At this very instant, unless others are expected.
    if (window_.closes_at() <= step.now) return;
    why = {DecisionKind::kWaitForMerge, worker,
           static_cast<int64_t>(window_.predicted()),
           absl::ToInt64Nanoseconds(window_.closes_at() - step.now)};
  }
  step.actions.push_back(Report{why});
}

CgpGroupId Cgp::Place(Step& step, WorkerId worker) {
  Member& member = members_.at(worker);
  member.state = State::kWaiting;
  if (member.target.has_value()) {
    groups_.Update(member.group,
                   [worker](CgpGroup& group) { group.waiting.erase(worker); });
    groups_.Exit(member.group);
    member.group = *std::exchange(member.target, std::nullopt);
    groups_.Enter(member.group);
    step.actions.push_back(Report{{DecisionKind::kMovedToGroup, worker,
                                   static_cast<int64_t>(member.group)}});
  }
  groups_.Update(member.group,
                 [worker](CgpGroup& group) { group.waiting.insert(worker); });
  return member.group;
}

void Cgp::Return(Step& step, WorkerId worker) {
  const CgpGroupId group = Place(step, worker);
  Start(step, group);
  ReportWait(step, worker);
}

void Cgp::Ready(Step& step, CgpGroupId id) {
  const CgpGroup& group = groups_.Of(id);
  if (group.waiting.empty() && group.gathered == 0) {
    // All of it are gone, idle or floating.
    window_.Forget(step.now, id);
    window_.Leave(id);
    groups_.Update(id, [](CgpGroup& g) { g.ready = false; });
    return;
  }
  if (group.ready) return;
  const bool update = group.gathered > 0 || accumulators_.any_late();
  // If it went on while others wait for whoever is at the bound, they would
  // wait for it again and again.
  const bool bounded =
      AtBound(step) || (options_.s_max.has_value() && window_.open());
  if (!update && !bounded) {
    window_.Forget(step.now, id);
    GoOn(step, {id});
    return;
  }
  groups_.Update(id, [](CgpGroup& g) { g.ready = true; });
  if (!window_.open()) OpenWindow(step, id);
  window_.Join(step.now, id);
}

void Cgp::OpenWindow(Step& step, CgpGroupId id) {
  const absl::Duration delta = Times(groups_.Of(id).period, options_.delta);
  absl::btree_set<CgpGroupId> predicted;
  if (options_.predictive) {
    predicted = groups_.DueWithin(step.now - delta, step.now + delta);
  }
  const bool waits = !options_.predictive || !predicted.empty();
  window_.Open(waits ? step.now + delta : step.now, std::move(predicted));
}

bool Cgp::AtBound(const Step& step) const {
  return options_.s_max.has_value() && groups_.any_runs() &&
         step.version - groups_.oldest_base() >= *options_.s_max;
}

void Cgp::Float(Step& step, CgpGroupId id) {
  absl::btree_set<WorkerId> missing;
  groups_.Update(id, [&missing](CgpGroup& group) {
    missing = std::exchange(group.awaited, {});
  });
  floating_ += missing.size();
  for (const WorkerId worker : missing) {
    members_.at(worker).state = State::kFloating;
    step.actions.push_back(
        Report{{DecisionKind::kFloats, worker,
                absl::ToInt64Nanoseconds(Times(
                    groups_.Of(id).period, options_.patience.value_or(0)))}});
  }
  Ready(step, id);
}

void Cgp::CloseWindow(Step& step) {
  const absl::btree_set<CgpGroupId> ids = window_.Close();
  absl::btree_set<RoundId> rounds;
  int64_t pushes = 0;
  std::optional<WorkerId> anybody;
  if (!late_.empty()) anybody = *late_.begin();
  for (const CgpGroupId id : ids) {
    const CgpGroup& group = groups_.Of(id);
    if (group.gathered > 0) rounds.insert(*group.accumulator);
    pushes += group.gathered;
    if (!group.waiting.empty()) anybody = *group.waiting.begin();
  }
  if (!rounds.empty() || accumulators_.any_late()) {
    if (anybody.has_value()) {
      step.actions.push_back(
          Report{{DecisionKind::kGroupsApplied, *anybody,
                  static_cast<int64_t>(rounds.size()), pushes,
                  static_cast<int64_t>(late_.size())}});
    }
    step.actions.push_back(accumulators_.Drain(rounds));
    ++step.version;
  }
  GoOn(step, ids);
}

void Cgp::GoOn(Step& step, const absl::btree_set<CgpGroupId>& ids) {
  absl::btree_set<WorkerId> returning = std::exchange(late_, {});
  bool gathered = false;
  for (const CgpGroupId id : ids) {
    const CgpGroup& group = groups_.Of(id);
    regrouper_.Updated(group.waiting, busy_);
    gathered = gathered || group.gathered > 0;
    returning.insert(group.waiting.begin(), group.waiting.end());
    groups_.Update(id, [](CgpGroup& g) {
      g.ready = false;
      g.gathered = 0;
    });
  }
  if (RegroupIsDue(gathered)) Regroup(step);
  absl::btree_set<CgpGroupId> to_start;
  for (const WorkerId worker : returning) to_start.insert(Place(step, worker));
  for (const CgpGroupId id : to_start) Start(step, id);
  for (const WorkerId worker : returning) ReportWait(step, worker);
  for (const CgpGroupId id : ids) groups_.Tidy(id);
}

void Cgp::Start(Step& step, CgpGroupId id) {
  if (!groups_.Contains(id) || !groups_.Of(id).at_rest()) return;
  if (groups_.Of(id).waiting.empty()) return;
  const std::optional<RoundId> accumulator = AccumulatorFor(groups_.Of(id));
  groups_.Update(id, [&](CgpGroup& group) {
    group.awaited = std::exchange(group.waiting, {});
    group.accumulator = accumulator;
    group.gathered = 0;
    group.base = step.version;
    group.period = PeriodOf(group.awaited);
    group.due = group.late_at = absl::InfiniteFuture();
    if (group.period == absl::ZeroDuration()) return;
    group.due = step.now + group.period;
    if (warmup_left_ > 0 || !options_.patience.has_value()) return;
    group.late_at = step.now + Times(group.period, *options_.patience);
  });
  for (const WorkerId worker : groups_.Of(id).awaited) {
    Member& member = members_.at(worker);
    member.state = State::kAwaited;
    member.accumulator = accumulator;
    if (accumulator.has_value()) accumulators_.Planned(*accumulator);
    busy_.Released(step.now, worker);
    const PushPlan plan = accumulator.has_value()
                              ? PushPlan::Round(*accumulator)
                              : PushPlan::Immediate();
    step.actions.push_back(
        Release{worker, options_.inverse_weight ? PushPlan::Ask() : plan});
  }
}

std::optional<RoundId> Cgp::AccumulatorFor(const CgpGroup& group) {
  if (accumulators_.in_use() >= CgpAccumulators::kMax) return std::nullopt;
  const bool many = groups_.size() > CgpAccumulators::kMax;
  if (many && group.waiting.size() == 1) return std::nullopt;
  return accumulators_.Open();
}

absl::Duration Cgp::PeriodOf(const absl::btree_set<WorkerId>& members) const {
  double period = 0;
  for (const WorkerId worker : members) {
    period = std::max(period, busy_.Of(worker).value_or(0));
  }
  return ToDuration(period);
}

bool Cgp::RegroupIsDue(bool gathered) {
  if (warmup_left_ == 0) return regrouper_.Due(members_.size());
  if (gathered) --warmup_left_;
  return warmup_left_ == 0;
}

void Cgp::Regroup(Step& step) {
  std::vector<WorkerId> workers;
  for (auto& [worker, member] : members_) {
    member.target.reset();
    if (member.state != State::kIdle) workers.push_back(worker);
  }
  if (workers.empty()) return;
  const CgpRegrouper::Division division = regrouper_.Divide(workers, busy_);
  // A new group goes on as the old one of its fastest member, unless another
  // does already.
  absl::btree_set<CgpGroupId> taken;
  bool changed = false;
  for (const std::vector<WorkerId>& group : division.groups) {
    CgpGroupId id = members_.at(group.front()).group;
    if (!taken.insert(id).second) id = groups_.NewId();
    for (const WorkerId worker : group) {
      Member& member = members_.at(worker);
      if (member.group == id) continue;
      member.target = id;
      changed = true;
    }
  }
  regrouper_.Divided(changed);
  if (!changed) return;
  step.actions.push_back(
      Report{{DecisionKind::kRegrouped, division.groups.front().front(),
              static_cast<int64_t>(division.groups.size()),
              std::llround(division.speed_share * 1000),
              std::llround(division.missed * 1000)}});
}

}  // namespace paceline
