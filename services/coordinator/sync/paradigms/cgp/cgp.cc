#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/busy_times.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_groups.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_regrouper.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

// The time in which ready groups come together for one global update
// (algorithms.md 3.2, MERGE). It ends at a deadline, or as soon as all groups
// have joined that were predicted to. Thread-compatible.
class CgpWindow {
 public:
  // Opens the window.  REQUIRES: it is not open.
  void Open(absl::Time closes_at, absl::btree_set<CgpGroupId> predicted) {
    open_ = true;
    closes_at_ = closes_at;
    predicted_ = std::move(predicted);
  }

  // A ready group joins.  REQUIRES: the window is open.
  void Join(absl::Time now, CgpGroupId group) {
    joined_.insert(group);
    Forget(now, group);
  }

  // The group need not be waited for (any more).
  void Forget(absl::Time now, CgpGroupId group) {
    if (predicted_.erase(group) == 0 || !predicted_.empty()) return;
    closes_at_ = std::min(closes_at_, now);
  }

  // The group has joined, but has nothing left to be applied.
  void Leave(CgpGroupId group) { joined_.erase(group); }

  // The groups that have joined. It is not open afterwards.
  absl::btree_set<CgpGroupId> Close() {
    open_ = false;
    predicted_.clear();
    return std::exchange(joined_, {});
  }

  bool open() const { return open_; }
  absl::Time closes_at() const { return closes_at_; }
  // How many predicted groups have yet to join.
  size_t predicted() const { return predicted_.size(); }

 private:
  bool open_ = false;
  absl::Time closes_at_ = absl::InfiniteFuture();
  absl::btree_set<CgpGroupId> joined_;
  absl::btree_set<CgpGroupId> predicted_;
};

// Of a batch, at least so much bridges the time to a group's next round.
constexpr double kLeastBridge = 0.25;

// CGP, cooperate grouping parallel (Li et al., FGCS 168, 2025; algorithms.md 3,
// where all but the idea is our reading, for the full text is not public): the
// workers are divided into groups of like pace, synchronous inside,
// asynchronous between each other. Groups that are ready at nearly the same
// time make one update (MERGE). A late member is not waited for: its push is
// adopted by the next update, whosever it is (HANDOVER).
//
// Beyond algorithms.md 3.5 it is decided here:
//   - A worker that comes back (late and adopted by another group's update,
//     resumed, moved by a regrouping) goes on with its group's next round, at
//     once if the group is at rest. So all members of a round have one version.
//   - A group that is overdue by more than delta is not predicted any more.
//   - A round has an accumulator of its own, so that a late push can be told
//     from the pushes of the group's later rounds. So the workers are divided
//     into RoundLedger::kMostAtWill groups at most. Joiners, each on its own,
//     can make more until the next division: then groups of one worker push
//     immediately, and so does any group while all accumulators are in use.
//     Such a group does not wait for others: each push is an update already.
//   - s_max: while an update would take a group beyond it, ready groups wait
//     for that group, however long. A late push may be staler.
//   - A worker that moves while its new group is in the middle of a round does
//     not wait for the next one: it computes as many samples as fit until then,
//     and is adopted like one that is late. Less than a quarter of a batch is
//     not begun.
//   - A policy that takes over from another knows the paces that were measured
//     under it: if those of all are known, there is no warm-up.
//   - Deadlines act on Tick alone, after the pushes of that instant. When
//     nobody computes there can be none, and a window closes at once.
class Cgp final : public SyncPolicy {
 public:
  explicit Cgp(const CgpOptions& options);

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // CloseRounds comes before the Releases that follow from it: those by group,
  // the oldest first, then by id.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override;
  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }
  PolicyView View() const override {
    return {.groups = static_cast<int64_t>(groups_.size())};
  }

 private:
  enum class State : uint8_t {
    kWaiting,   // Waits in its group for the next round.
    kAwaited,   // Computes, and its group waits for it.
    kFloating,  // Computes, and its group has gone on without it.
    kLate,      // Has pushed after that, and waits for an update to adopt it.
    kIdle,
  };
  struct Member {
    CgpGroupId group;
    std::optional<CgpGroupId> target = std::nullopt;  // Where it moves next.
    State state = State::kWaiting;
    // The accumulator of its open plan; none if that is no round of ours.
    std::optional<RoundId> accumulator = std::nullopt;
  };
  struct Step {
    Step(const SyncView& seen, std::vector<Action>& wanted)
        : view(seen),
          now(seen.now()),
          version(seen.version()),
          free_rounds(seen.rounds().free()),
          actions(wanted) {}

    const SyncView& view;
    absl::Time now;
    Version version;      // Closings of this step are counted in it.
    int64_t free_rounds;  // How many of them this step has left.
    std::vector<Action>& actions;
  };

  void Join(Step& step, WorkerId worker);
  void Plan(Step& step, const GradientReady& ready);
  void Pushed(Step& step, const PushDone& done);
  void Dropped(Step& step, WorkerId worker);
  // The worker is out of its round, and of everything if it is gone.
  void Remove(Step& step, WorkerId worker, bool gone);
  void Tick(Step& step);
  // Does what must not wait for a Tick.
  void Settle(Step& step);

  // Ends the plan of the iteration; true if it was for an accumulator.
  static bool EndPlan(Member& member);
  void Arrive(Step& step, WorkerId worker, bool gathered);
  void ReportWait(Step& step, WorkerId worker);
  // Lets the worker wait in its group, and gives that group.
  CgpGroupId Place(Step& step, WorkerId worker);
  // Places the worker, and lets it go on at once if the group is at rest.
  void Return(Step& step, WorkerId worker);

  // The group awaits nobody any more.
  void Ready(Step& step, CgpGroupId id);
  void OpenWindow(Step& step, CgpGroupId id);
  // Whether an update now would take a running group beyond s_max.
  bool AtBound(const Step& step) const;
  void Float(Step& step, CgpGroupId id);
  // Makes the window's update.
  void CloseWindow(Step& step);
  // Lets these groups and the late workers go on: all of theirs is applied.
  void GoOn(Step& step, const absl::btree_set<CgpGroupId>& ids);
  void Start(Step& step, CgpGroupId id);
  // The worker, which has moved, waits for its new group's next round: until
  // then it computes by itself, if that is worth while.
  void Bridge(Step& step, WorkerId worker);
  std::optional<RoundId> AccumulatorFor(Step& step, const CgpGroup& group);
  absl::Duration PeriodOf(const absl::btree_set<WorkerId>& members) const;

  // A group of members of the beginning.
  void BeginGroup(Step& step, CgpGroupId id,
                  const std::vector<WorkerId>& workers);
  bool RegroupIsDue(bool warmup_round);
  void Regroup(Step& step);
  static void ReportDivision(Step& step,
                             const CgpRegrouper::Division& division);

  const CgpOptions options_;
  BusyTimes busy_;
  CgpRegrouper regrouper_;
  CgpGroups groups_;
  CgpWindow window_;
  absl::btree_map<WorkerId, Member> members_;
  absl::btree_set<WorkerId> late_;
  absl::btree_set<RoundId> late_rounds_;  // The rounds with late_'s pushes.
  uint64_t next_round_ = 0;  // It is free, and so is every greater one.
  size_t floating_ = 0;
  CgpGroupId warmup_group_;
  int64_t warmup_left_;  // The number of rounds of the warm-up to come.
  bool held_ = false;    // At the last look s_max kept the window open.
};

// Whole nanoseconds, as clocks have them.
absl::Duration ToDuration(double seconds) {
  return absl::Nanoseconds(std::llround(seconds * 1e9));
}

absl::Duration Times(absl::Duration duration, double factor) {
  return ToDuration(absl::ToDoubleSeconds(duration) * factor);
}

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

void Cgp::Adopt(const SyncView& view, std::vector<Action>& actions) {
  Step step(view, actions);
  next_round_ = ToNumber(view.rounds().next());
  std::vector<WorkerId> active;
  std::vector<WorkerId> all;
  bool known = true;
  for (const auto& [worker, phase] : view.members()) {
    all.push_back(worker);
    const std::optional<Pace> pace = view.PaceBefore(worker);
    if (pace.has_value()) busy_.Assume(worker, pace->busy_s());
    if (phase == SyncView::Phase::kIdle) continue;
    active.push_back(worker);
    known = known && pace.has_value();
  }
  if (active.empty() || !known) return BeginGroup(step, warmup_group_, all);
  warmup_left_ = 0;
  const CgpRegrouper::Division division = regrouper_.Divide(active, {}, busy_);
  ReportDivision(step, division);
  for (const std::vector<WorkerId>& group : division.groups) {
    BeginGroup(step, groups_.NewId(), group);
  }
  for (const WorkerId worker : all) {
    if (!members_.contains(worker)) BeginGroup(step, groups_.NewId(), {worker});
  }
}

void Cgp::BeginGroup(Step& step, CgpGroupId id,
                     const std::vector<WorkerId>& workers) {
  for (const WorkerId worker : workers) {
    const SyncView::Phase phase = step.view.PhaseOf(worker);
    const bool computes = phase == SyncView::Phase::kComputing;
    Member& member = members_[worker];
    member.group = id;
    groups_.Enter(id);
    if (phase == SyncView::Phase::kIdle) {
      member.state = State::kIdle;
      continue;
    }
    member.state = computes ? State::kAwaited : State::kWaiting;
    groups_.Update(id, [&](CgpGroup& group) {
      group.base = step.version;
      (computes ? group.awaited : group.waiting).insert(worker);
    });
  }
  Start(step, id);
}

void Cgp::Apply(const SyncView& view, const Event& event,
                std::vector<Action>& actions) {
  Step step(view, actions);
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
  const bool gathered = EndPlan(member) && done.taken;
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
  late_rounds_.insert(*accumulator);
  step.actions.push_back(Report{{DecisionKind::kLatePush, worker}});
}

void Cgp::Dropped(Step& step, WorkerId worker) {
  Member& member = members_.at(worker);
  busy_.Dropped(worker);
  EndPlan(member);
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
  EndPlan(member);
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
  if (!late_rounds_.empty() && !window_.open() && !groups_.any_runs()) {
    window_.Open(step.now, {});
  }
  // No push can come at this instant.
  if (window_.open() && !groups_.any_runs() && floating_ == 0) {
    CloseWindow(step);
  }
  held_ = window_.open() && AtBound(step);
}

bool Cgp::EndPlan(Member& member) {
  return std::exchange(member.accumulator, std::nullopt).has_value();
}

// What Cgp does with its groups' rounds: from a member's arrival over the
// window and its update to the next round.

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
  const bool update = group.gathered > 0 || !late_rounds_.empty();
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
  if (!rounds.empty() || !late_rounds_.empty()) {
    if (anybody.has_value()) {
      step.actions.push_back(
          Report{{DecisionKind::kGroupsApplied, *anybody,
                  static_cast<int64_t>(rounds.size()), pushes,
                  static_cast<int64_t>(late_.size())}});
    }
    rounds.insert(late_rounds_.begin(), late_rounds_.end());
    late_rounds_.clear();
    for (const RoundId round : rounds) {
      if (step.view.rounds().EndsWithClosing(round)) ++step.free_rounds;
    }
    step.actions.push_back(CloseRounds{{rounds.begin(), rounds.end()}});
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
  absl::btree_set<WorkerId> moved;
  for (const WorkerId worker : returning) {
    if (members_.at(worker).target.has_value()) moved.insert(worker);
    to_start.insert(Place(step, worker));
  }
  for (const CgpGroupId id : to_start) Start(step, id);
  for (const WorkerId worker : moved) Bridge(step, worker);
  for (const WorkerId worker : returning) ReportWait(step, worker);
  for (const CgpGroupId id : ids) groups_.Tidy(id);
}

void Cgp::Start(Step& step, CgpGroupId id) {
  if (!groups_.Contains(id) || !groups_.Of(id).at_rest()) return;
  if (groups_.Of(id).waiting.empty()) return;
  const std::optional<RoundId> accumulator =
      AccumulatorFor(step, groups_.Of(id));
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
    busy_.Released(step.now, worker);
    const PushPlan plan = accumulator.has_value()
                              ? PushPlan::Round(*accumulator)
                              : PushPlan::Immediate();
    step.actions.push_back(
        Release{worker, options_.inverse_weight ? PushPlan::Ask() : plan});
  }
}

void Cgp::Bridge(Step& step, WorkerId worker) {
  Member& member = members_.at(worker);
  const CgpGroup& group = groups_.Of(member.group);
  const std::optional<double> busy_s = busy_.Of(worker);
  if (member.state != State::kWaiting || !group.runs() || !busy_s.has_value() ||
      group.due == absl::InfiniteFuture()) {
    return;
  }
  const double share =
      std::min(1.0, absl::ToDoubleSeconds(group.due - step.now) / *busy_s);
  if (share < kLeastBridge) return;
  groups_.Update(member.group,
                 [worker](CgpGroup& g) { g.waiting.erase(worker); });
  member.state = State::kFloating;
  ++floating_;
  if (step.free_rounds > 0) {
    --step.free_rounds;
    member.accumulator = RoundId{next_round_++};
  }
  const PushPlan plan = member.accumulator.has_value()
                            ? PushPlan::Round(*member.accumulator)
                            : PushPlan::Immediate();
  // What a part takes is no measure of the pace.
  const auto samples = static_cast<uint32_t>(share * step.view.batch_size());
  if (share == 1) busy_.Released(step.now, worker);
  step.actions.push_back(
      Release{.worker = worker,
              .plan = options_.inverse_weight ? PushPlan::Ask() : plan,
              .samples = share < 1 ? std::max(1u, samples) : 0});
}

std::optional<RoundId> Cgp::AccumulatorFor(Step& step, const CgpGroup& group) {
  if (step.free_rounds <= 0) return std::nullopt;
  const bool many = groups_.size() > RoundLedger::kMostAtWill;
  if (many && group.waiting.size() == 1) return std::nullopt;
  --step.free_rounds;
  return RoundId{next_round_++};
}

absl::Duration Cgp::PeriodOf(const absl::btree_set<WorkerId>& members) const {
  double period = 0;
  for (const WorkerId worker : members) {
    period = std::max(period, busy_.Of(worker).value_or(0));
  }
  return ToDuration(period);
}

bool Cgp::RegroupIsDue(bool gathered) {
  if (warmup_left_ == 0) {
    return regrouper_.Due(members_.size(), groups_.size());
  }
  if (gathered) --warmup_left_;
  return warmup_left_ == 0;
}

void Cgp::Regroup(Step& step) {
  std::vector<WorkerId> workers;
  absl::btree_map<CgpGroupId, std::vector<WorkerId>> groups;
  for (auto& [worker, member] : members_) {
    member.target.reset();
    if (member.state == State::kIdle) continue;
    workers.push_back(worker);
    groups[member.group].push_back(worker);
  }
  if (workers.empty()) return;
  CgpRegrouper::Groups present;
  for (auto& [id, group] : groups) present.push_back(std::move(group));
  const CgpRegrouper::Division division =
      regrouper_.Divide(workers, present, busy_);
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
  if (changed) ReportDivision(step, division);
}

void Cgp::ReportDivision(Step& step, const CgpRegrouper::Division& division) {
  step.actions.push_back(
      Report{{DecisionKind::kRegrouped, division.groups.front().front(),
              static_cast<int64_t>(division.groups.size()),
              std::llround(division.speed_share * 1000),
              std::llround(division.missed * 1000)}});
}

absl::Time Cgp::NextDeadline() const {
  const absl::Time late = groups_.NextLate();
  return window_.open() && !held_ ? std::min(late, window_.closes_at()) : late;
}

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const CgpOptions& options) {
  return std::make_unique<Cgp>(options);
}

}  // namespace paceline
