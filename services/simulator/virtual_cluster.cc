#include "services/simulator/virtual_cluster.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/check.h"
#include "common/rng.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

// A policy whose deadline does not move is a bug; it would never end.
constexpr int64_t kMostTicksAtOnce = 100'000;

// Sums of nanoseconds stay far from their limit.
constexpr Nanos kLongestRun = Nanos{100} * 365 * 86'400 * 1'000'000'000;

// Switches after a share of the samples are the core's affair, as in a real
// job.
SyncOptions OptionsOf(const ClusterSpec& spec) {
  SyncOptions options = spec.sync;
  options.make_policy = [](const ParadigmSpec& paradigm) {
    return MakePolicy(paradigm);
  };
  if (!spec.samples_end) return options;
  const double total = static_cast<double>(options.train_samples) *
                       static_cast<double>(options.epochs);
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
                               std::unique_ptr<SyncPolicy> policy,
                               ClusterObserver* observer)
    : spec_(*spec),
      observer_(observer == nullptr ? idle_observer_ : *observer),
      core_(OptionsOf(*spec), std::move(policy)),
      statistics_(*spec),
      latest_(spec->workers.size(), -1) {
  devices_.reserve(spec_.workers.size());
  for (size_t i = 0; i < spec_.workers.size(); ++i) {
    devices_.emplace_back(&spec_.workers[i].device, spec_.sync.batch_size,
                          DeriveSeed(spec_.seed, i));
  }
}

SimulationResult VirtualCluster::Run() {
  const std::string paradigm = core_.policy().Describe();
  Begin();
  while (!core_.finished()) {
    const Nanos deadline = ToNanos(core_.NextDeadline());
    // The policy's own deadlines bring nobody back.
    if (queue_.empty() && members_ == 0) break;
    const bool tick = TickIsNext(deadline);
    const Nanos next = tick ? deadline : queue_.top().at;
    if (next > std::min(spec_.end, kLongestRun)) break;
    ticks_now_ = next > now_ ? 0 : ticks_now_;
    now_ = std::max(now_, next);
    if (tick) {
      Tick();
    } else {
      Handle(queue_.Pop());
    }
    SwitchByTime();
  }
  const bool timed_out = spec_.end != kNever && !core_.finished();
  if (timed_out) TimeIsOver();
  for (uint32_t id = 0; id < workers_.size(); ++id) {
    if (!workers_[id].alive) continue;
    if (!core_.finished()) statistics_.Gone(workers_[id], now_);
    TellGone(id);
  }
  SimulationResult result = statistics_.Take(now_);
  result.paradigm = paradigm;
  result.complete = core_.finished() || (timed_out && members_ > 0);
  result.updates = core_.version();
  if (core_.finished()) LetServersFinish();
  return result;
}

// What is under way is cut off, and the weights are looked at as they are.
void VirtualCluster::TimeIsOver() {
  now_ = spec_.end;
  if (spec_.sync.eval_every == 0) return;
  observer_.SnapshotTaken(now_, {.version = core_.version(),
                                 .samples = core_.samples_counted(),
                                 .closing = core_.closing(),
                                 .last = true});
}

// Nothing else is under way: for observers, who want the last weights.
void VirtualCluster::LetServersFinish() {
  while (!to_servers_.empty()) {
    const TimedEvent event = queue_.Pop();
    if (event.kind != EventKind::kServerCommand) continue;
    now_ = event.at;
    ServerTakes();
  }
}

void VirtualCluster::Begin() {
  std::vector<bool> absent(spec_.workers.size(), false);
  std::vector<uint8_t> seen(spec_.workers.size(), 0);
  for (size_t i = 0; i < spec_.changes.size(); ++i) {
    const MembershipChange& change = spec_.changes[i];
    // Who joins first was not there before.
    if (std::exchange(seen[change.worker], 1) == 0) {
      absent[change.worker] = change.kind == MembershipChange::Kind::kJoin;
    }
    Send(EventKind::kScheduled, 0, change.at, static_cast<int64_t>(i));
  }
  if (!spec_.samples_end && spec_.end != kNever) {
    for (const PlannedSwitch& planned : spec_.switches) {
      Send(EventKind::kSwitchDue, 0,
           static_cast<Nanos>(planned.share * static_cast<double>(spec_.end)));
    }
  }
  std::vector<WorkerId> ids;
  for (size_t i = 0; i < spec_.workers.size(); ++i) {
    if (absent[i]) continue;
    ids.push_back(WorkerId{static_cast<uint32_t>(workers_.size())});
    NewWorker(i);
  }
  core_.Start(ToTime(now_), ids, outputs_);
  Deliver();
  SwitchByTime();
}

bool VirtualCluster::TickIsNext(Nanos deadline) const {
  if (queue_.empty() || deadline < queue_.top().at) return true;
  return deadline == queue_.top().at &&
         queue_.top().kind > EventKind::kLastBeforeTick;
}

void VirtualCluster::Tick() {
  CHECK(++ticks_now_ < kMostTicksAtOnce);
  HearEverybody();
  core_.Tick(ToTime(now_), outputs_);
  Deliver();
}

// Real workers send a sign of life every quarter of a lease.
void VirtualCluster::HearEverybody() {
  const Nanos quarter = absl::ToInt64Nanoseconds(spec_.sync.lease) / 4;
  if (now_ - heard_ < quarter) return;
  heard_ = now_;
  for (const int64_t id : latest_) {
    if (id < 0 || !workers_[id].alive) continue;
    core_.Heard(ToTime(now_), WorkerId{static_cast<uint32_t>(id)});
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
    case EventKind::kFenceAnswered:
      return FenceAnswered(event.worker);
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
      core_.Leave(ToTime(now_), WorkerId{event.worker}, LossReason::kDeparted,
                  outputs_);
      return Deliver();
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

VirtualWorker& VirtualCluster::NewWorker(size_t index) {
  const WorkerId id{static_cast<uint32_t>(workers_.size())};
  VirtualWorker& worker = workers_.emplace_back();
  worker.index = index;
  worker.waits_since = now_;
  latest_[index] = ToNumber(id);
  ++members_;
  statistics_.Joined(index, now_);
  observer_.Joined(now_, id, index);
  return worker;
}

void VirtualCluster::Join(size_t index) {
  const int64_t latest = latest_[index];
  if (latest >= 0 && workers_[latest].alive) return;
  const WorkerId id{static_cast<uint32_t>(workers_.size())};
  NewWorker(index);
  core_.Join(ToTime(now_), id, outputs_);
  Deliver();
}

void VirtualCluster::SwitchByTime() {
  while (next_switch_ < spec_.switches.size() && members_ > 0 &&
         !core_.finished()) {
    if (next_switch_ >= switches_due_) return;
    const PlannedSwitch& planned = spec_.switches[next_switch_++];
    core_.Switch(ToTime(now_), MakePolicy(planned.paradigm), "planned by time",
                 outputs_);
    Deliver();
  }
}

}  // namespace paceline
