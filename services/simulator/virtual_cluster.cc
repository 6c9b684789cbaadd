#include "services/simulator/virtual_cluster.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/rng.h"

namespace paceline {
namespace {

// A policy whose deadline does not move is a bug; it would never end.
constexpr int64_t kMostTicksAtOnce = 100'000;

// Sums of nanoseconds stay far from their limit.
constexpr Nanos kLongestRun = Nanos{100} * 365 * 86'400 * 1'000'000'000;

// Who is there at the beginning, by index: all but those who join first.
std::vector<bool> BeginnersOf(const ClusterSpec& spec) {
  std::vector<bool> there(spec.workers.size(), true);
  std::vector<bool> seen(spec.workers.size(), false);
  for (const MembershipChange& change : spec.changes) {
    if (seen[change.worker]) continue;
    seen[change.worker] = true;
    there[change.worker] = change.kind != MembershipChange::Kind::kJoin;
  }
  return there;
}

RunSettings SettingsOf(const ClusterSpec& spec) {
  RunSettings settings = spec.settings;
  const std::vector<bool> there = BeginnersOf(spec);
  settings.workers_min = std::count(there.begin(), there.end(), true);
  return settings;
}

// How large the model is, only the links feel.
WorkerModel ModelOf(const ClusterSpec& spec) {
  return {{{"weights", {1}, 1, false}}, spec.train_samples};
}

CourseOptions OptionsOf(const ClusterSpec& spec) {
  CourseOptions options = spec.run;
  for (int i = 0; i < spec.servers; ++i) {
    options.servers.push_back(absl::StrCat("s", i));
  }
  options.restored = true;  // Nobody writes starting weights.
  options.waits_for_workers = true;
  options.look_every = options.lease;
  // Switches after a share of the samples are the core's affair, as in a real
  // job.
  if (!spec.samples_end) return options;
  const auto total = static_cast<double>(
      SamplesWanted(spec.settings.stop, spec.train_samples));
  for (const PlannedSwitch& planned : spec.switches) {
    options.switches.push_back(
        {static_cast<int64_t>(planned.share * total), planned.paradigm});
  }
  return options;
}

bool IsOfItsCourse(EventKind kind) {
  return kind <= EventKind::kComputed || kind == EventKind::kDeparted ||
         kind == EventKind::kPull;
}

}  // namespace

VirtualCluster::VirtualCluster(const ClusterSpec* spec,
                               ClusterObserver* observer)
    : spec_(*spec),
      observer_(observer == nullptr ? idle_observer_ : *observer),
      course_(OptionsOf(*spec), SettingsOf(*spec), ToTime(0)),
      statistics_(*spec),
      latest_(spec->workers.size(), -1) {
  devices_.reserve(spec_.workers.size());
  for (size_t i = 0; i < spec_.workers.size(); ++i) {
    devices_.emplace_back(&spec_.workers[i].device, spec_.run.batch_size,
                          DeriveSeed(spec_.seed, i));
  }
}

SimulationResult VirtualCluster::Run() {
  const std::string paradigm = course_.paradigm();
  Begin();
  while (!core().finished()) {
    const Nanos deadline = ToNanos(course_.NextDeadline());
    // No deadline brings anybody back.
    if (queue_.empty() && core().member_count() == 0) break;
    const bool tick = TickIsNext(deadline);
    const Nanos next = tick ? deadline : queue_.top().at;
    if (next > std::min(spec_.end, kLongestRun)) break;
    ticks_now_ = next > now_ ? 0 : ticks_now_;
    now_ = std::max(now_, next);
    if (tick) {
      TimePasses();
    } else {
      Handle(queue_.Pop());
    }
    SwitchByTime();
  }
  const bool timed_out = spec_.end != kNever && !core().finished();
  if (timed_out) TimeIsOver();
  for (uint32_t id = 0; id < workers_.size(); ++id) {
    if (!workers_[id].alive) continue;
    if (!core().finished()) statistics_.Gone(workers_[id], now_);
    TellGone(id);
  }
  SimulationResult result = statistics_.Take(now_);
  result.paradigm = paradigm;
  result.complete =
      core().finished() || (timed_out && core().member_count() > 0);
  result.updates = core().version();
  if (core().finished()) LetServersFinish();
  return result;
}

// What is under way is cut off, and the weights are looked at as they are.
void VirtualCluster::TimeIsOver() {
  now_ = spec_.end;
  if (!spec_.run.evaluate) return;
  MemberEvaluated evaluated;
  observer_.SnapshotTaken(now_,
                          {.version = core().version(),
                           .samples = core().samples_counted(),
                           .closing = core().closing(),
                           .last = true},
                          evaluated);
}

// Nothing else is under way: for observers, who want the last weights.
void VirtualCluster::LetServersFinish() {
  while (!to_servers_.empty() || !to_answer_.empty()) {
    const TimedEvent event = queue_.Pop();
    if (event.kind != EventKind::kServerCommand &&
        event.kind != EventKind::kServerAnswers) {
      continue;
    }
    now_ = event.at;
    Handle(event);
  }
}

void VirtualCluster::Begin() {
  for (size_t i = 0; i < spec_.changes.size(); ++i) {
    Send(EventKind::kScheduled, 0, spec_.changes[i].at,
         static_cast<int64_t>(i));
  }
  if (!spec_.samples_end && spec_.end != kNever) {
    for (const PlannedSwitch& planned : spec_.switches) {
      Send(EventKind::kSwitchDue, 0,
           static_cast<Nanos>(planned.share * static_cast<double>(spec_.end)));
    }
  }
  const std::vector<bool> there = BeginnersOf(spec_);
  for (size_t i = 0; i < there.size(); ++i) {
    if (there[i]) NewWorker(i);
  }
  Give(FilesOpened{});
  if (spec_.run.evaluate) {
    Give(MemberCame{
        .worker = kEvaluator, .name = "evaluator", .evaluator = true});
    Give(MemberReady{kEvaluator, ModelOf(spec_)});
  }
  for (uint32_t id = 0; id < workers_.size(); ++id) Register(id);
  Give(ParametersAdmitted{});
  AnswerAll(/*sequence=*/1, nullptr);  // The model's blocks are hosted.
  SwitchByTime();
}

void VirtualCluster::Register(uint32_t id) {
  Give(MemberCame{.worker = WorkerId{id},
                  .name = spec_.workers[workers_[id].index].name,
                  .incarnation = IncarnationOf(id)});
  Give(MemberReady{WorkerId{id}, ModelOf(spec_)});
}

bool VirtualCluster::TickIsNext(Nanos deadline) const {
  if (queue_.empty() || deadline < queue_.top().at) return true;
  return deadline == queue_.top().at &&
         queue_.top().kind > EventKind::kLastBeforeTick;
}

void VirtualCluster::TimePasses() {
  CHECK(++ticks_now_ < kMostTicksAtOnce);
  if (ToNanos(core().NextDeadline()) <= now_) HearEverybody();
  // It lives as long as the run, however rarely there is something to evaluate.
  if (spec_.run.evaluate) Give(MemberHeard{kEvaluator});
  Give(TimePassed{});
}

// Real workers send a sign of life every quarter of a lease.
void VirtualCluster::HearEverybody() {
  const Nanos quarter = absl::ToInt64Nanoseconds(spec_.run.lease) / 4;
  if (now_ - heard_ < quarter) return;
  heard_ = now_;
  for (const int64_t id : latest_) {
    if (id < 0 || !workers_[id].alive) continue;
    Give(MemberHeard{WorkerId{static_cast<uint32_t>(id)}});
  }
}

void VirtualCluster::Handle(const TimedEvent& event) {
  switch (event.kind) {
    case EventKind::kJoins:
      return Join(static_cast<size_t>(event.argument));
    case EventKind::kScheduled:
      return Change(spec_.changes[static_cast<size_t>(event.argument)]);
    case EventKind::kSwitchDue:
      ++switches_due_;
      return;
    case EventKind::kServerCommand:
      return ServerTakes();
    case EventKind::kServerAnswers:
      return ServerAnswers();
    case EventKind::kRefresh:
      return TakeRefresh(event.worker, event.argument);
    case EventKind::kAbandon:
      return TakeAbandon(event.worker, event.argument);
    case EventKind::kEvicted:
      return Evicted(event.worker);
    default:
      return HandleWorker(event);
  }
}

void VirtualCluster::HandleWorker(const TimedEvent& event) {
  CHECK(IsOfItsCourse(event.kind));
  if (event.argument != workers_[event.worker].generation) return;
  switch (event.kind) {
    case EventKind::kPull:
      return Pull(event.worker);
    case EventKind::kComputed:
      return Computed(event.worker);
    case EventKind::kGradientReady:
      return GradientReady(event.worker);
    case EventKind::kPlanArrives:
      return PlanArrives(event.worker);
    case EventKind::kPushArrives:
      return PushArrives(event.worker);
    case EventKind::kPushDone:
      return PushDone(event.worker);
    case EventKind::kAbandoned:
      return Abandoned(event.worker);
    default:
      return Give(MemberGone{WorkerId{event.worker}, LossReason::kDeparted});
  }
}

void VirtualCluster::Change(const MembershipChange& change) {
  if (change.kind == MembershipChange::Kind::kJoin) {
    Join(change.worker);
    return;
  }
  const int64_t id = latest_[change.worker];
  if (id < 0 || !workers_[id].alive) return;  // Between two incarnations.
  if (change.kind == MembershipChange::Kind::kLeave) {
    Leave(static_cast<uint32_t>(id));
  } else {
    Crash(static_cast<uint32_t>(id));
  }
}

void VirtualCluster::NewWorker(size_t index) {
  const WorkerId id{static_cast<uint32_t>(workers_.size())};
  VirtualWorker& worker = workers_.emplace_back();
  worker.index = index;
  worker.waits_since = now_;
  latest_[index] = ToNumber(id);
  statistics_.Joined(index, now_);
  observer_.Joined(now_, id, index);
}

void VirtualCluster::Join(size_t index) {
  const int64_t latest = latest_[index];
  if (latest >= 0 && workers_[latest].alive) return;
  NewWorker(index);
  Register(static_cast<uint32_t>(latest_[index]));
}

void VirtualCluster::SwitchByTime() {
  while (next_switch_ < switches_due_ && core().member_count() > 0 &&
         !core().finished()) {
    const PlannedSwitch& planned = spec_.switches[next_switch_++];
    Give(SwitchRun{planned.paradigm, "planned by time"});
  }
}

}  // namespace paceline
