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
  if (spec.whole_run) return settings;
  const std::vector<bool> there = BeginnersOf(spec);
  settings.workers_min = std::count(there.begin(), there.end(), true);
  return settings;
}

CourseOptions OptionsOf(const ClusterSpec& spec) {
  CourseOptions options = spec.run;
  options.micro_batch = spec.micro_batch;
  for (int i = 0; i < spec.servers; ++i) {
    options.servers.push_back(
        {.name = absl::StrCat("s", i), .replicates = options.replicas > 0});
  }
  if (!spec.whole_run) {
    options.restored = true;  // Nobody writes starting weights.
    options.waits_for_workers = true;
    options.look_every = options.lease;
  }
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

// Events that carry the generation of a member.
bool IsOfItsCourse(EventKind kind) {
  switch (kind) {
    case EventKind::kDeparted:
    case EventKind::kPull:
    case EventKind::kPullServed:
    case EventKind::kWeightsArrive:
    case EventKind::kLoaded:
    case EventKind::kInitialized:
    case EventKind::kEvaluated:
    case EventKind::kAcknowledged:
      return true;
    case EventKind::kTransferred:
      return false;
    default:
      return kind <= EventKind::kComputed;
  }
}

// Devices draw from the streams 0, 1, ...
constexpr uint64_t kFaultStream = uint64_t{1} << 32;

}  // namespace

std::unique_ptr<RunCourse> VirtualCluster::NewCourse() const {
  return std::make_unique<RunCourse>(OptionsOf(spec_), SettingsOf(spec_),
                                     ToTime(0));
}

VirtualCluster::VirtualCluster(const ClusterSpec* spec,
                               std::vector<ClusterObserver*> observers)
    : spec_(*spec),
      observers_(std::move(observers)),
      draws_(&spec->faults, DeriveSeed(spec->seed, kFaultStream)),
      course_(NewCourse()),
      statistics_(*spec),
      latest_(spec->workers.size(), -1),
      load_(*spec),
      processes_(spec->servers, true) {
  CHECK(!spec_.whole_run || !load_.takes_time());
  std::erase(observers_, nullptr);
  devices_.reserve(spec_.workers.size());
  queues_.resize(spec_.workers.size());
  for (size_t i = 0; i < spec_.workers.size(); ++i) {
    devices_.emplace_back(&spec_.workers[i].device, spec_.run.batch_size,
                          DeriveSeed(spec_.seed, i));
    if (const auto of = spec_.workers[i].of) queues_[*of].emplace();
  }
  if (!spec_.whole_run) {
    servers_.emplace_back(0, spec_.servers, 1);
    return;
  }
  for (int server = 0; server < spec_.servers; ++server) {
    servers_.emplace_back(
        server, 1,
        spec_.server_blocks.empty() ? 1 : spec_.server_blocks.at(server));
  }
}

SimulationResult VirtualCluster::Run() {
  const std::string paradigm = course_->paradigm();
  Begin();
  while (!Over()) {
    const Nanos deadline = ToNanos(course_->NextDeadline());
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
  return Result(paradigm);
}

bool VirtualCluster::Over() const {
  if (spec_.whole_run) {
    return course_->stage() == RunStage::kEnded && queue_.empty();
  }
  // No deadline brings anybody back.
  return core().finished() || (queue_.empty() && core().member_count() == 0);
}

SimulationResult VirtualCluster::Result(const std::string& paradigm) {
  const bool finished = course_->core() != nullptr && core().finished();
  const bool timed_out =
      !spec_.whole_run && spec_.end != kNever && !core().finished();
  if (timed_out) TimeIsOver();
  for (uint32_t id = 0; id < workers_.size(); ++id) {
    if (!workers_[id].alive) continue;
    if (!finished) statistics_.Gone(workers_[id], now_);
    TellGone(id);
  }
  SimulationResult result = statistics_.Take(now_);
  result.paradigm = paradigm;
  if (course_->core() != nullptr) result.updates = core().version();
  if (spec_.whole_run) {
    result.complete = Over();
    return result;
  }
  result.complete = finished || (timed_out && core().member_count() > 0);
  if (finished) LetServersFinish();
  return result;
}

// What is under way is cut off, and the weights are looked at as they are.
void VirtualCluster::TimeIsOver() {
  now_ = spec_.end;
  if (!spec_.run.evaluate) return;
  const SnapshotCommand snapshot{.version = core().version(),
                                 .samples = core().samples_counted(),
                                 .closing = core().closing(),
                                 .last = true};
  MemberEvaluated evaluated;
  Tell(&ClusterObserver::SnapshotTaken, now_, snapshot, evaluated);
}

// Nothing else is under way: for observers, who want the last weights.
void VirtualCluster::LetServersFinish() {
  while (!servers_.front().idle()) {
    const TimedEvent event = queue_.Pop();
    if (event.kind != EventKind::kServerCommand &&
        event.kind != EventKind::kCommandServed &&
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
  if (spec_.whole_run) return BeginLife(there);
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
  for (int server = 0; server < spec_.servers; ++server) {
    Give(CommandDone{server, 1, absl::OkStatus()});  // It hosts its blocks.
  }
  SwitchByTime();
  if (spec_.pilot != nullptr) LetPilotLook();
}

void VirtualCluster::Register(uint32_t id) {
  Give(MemberCame{.worker = WorkerId{id},
                  .name = spec_.workers[workers_[id].index].name,
                  .incarnation = IncarnationOf(id)});
  if (!spec_.whole_run) {
    Give(MemberReady{WorkerId{id}, ModelOf(spec_), WishesOf(id)});
  }
}

bool VirtualCluster::TickIsNext(Nanos deadline) const {
  if (queue_.empty() || deadline < queue_.top().at) return true;
  return deadline == queue_.top().at &&
         queue_.top().kind > EventKind::kLastBeforeTick;
}

void VirtualCluster::TimePasses() {
  CHECK(++ticks_now_ < kMostTicksAtOnce);
  if (spec_.whole_run) {
    HearEverybody();
  } else {
    if (ToNanos(core().NextDeadline()) <= now_) HearEverybody();
    // It lives as long as the run, however rarely there is something to
    // evaluate.
    if (spec_.run.evaluate) Give(MemberHeard{kEvaluator});
  }
  Give(TimePassed{});
}

// Real workers send a sign of life every quarter of a lease.
void VirtualCluster::HearEverybody() {
  const Nanos quarter = absl::ToInt64Nanoseconds(spec_.run.lease) / 4;
  if (now_ - heard_ < quarter) return;
  heard_ = now_;
  for (const int64_t id : latest_) {
    if (id < 0 || !workers_[id].alive || workers_[id].awake_at > now_) continue;
    Give(MemberHeard{WorkerId{static_cast<uint32_t>(id)}});
  }
  for (uint32_t i = 0; i < evaluators_.size(); ++i) {
    if (!evaluators_[i].alive || evaluators_[i].awake_at > now_) continue;
    Give(MemberHeard{WorkerId{ToNumber(kEvaluator) - i}});
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
    case EventKind::kPilotLooks:
      return LetPilotLook();
    case EventKind::kServerCommand:
      return ServerTakes(event.worker);
    case EventKind::kCommandServed:
      return ServerCarriesOut(event.worker);
    case EventKind::kServerAnswers:
      return ServerAnswers(event.worker);
    case EventKind::kRefresh:
    case EventKind::kAbandon:
    case EventKind::kEvicted:
    case EventKind::kShardMoved:
      return HandleOrder(event);
    case EventKind::kTransferred:
      return Transferred(static_cast<Direction>(event.worker));
    default:
      if (IsOfItsCourse(event.kind)) return HandleWorker(event);
      return HandleLife(event);
  }
}

void VirtualCluster::HandleOrder(const TimedEvent& event) {
  VirtualMember& member = MemberOf(event.worker);
  if (now_ < member.awake_at) {
    // What it still does before it hears that it is given up comes too late.
    const bool later = event.kind == EventKind::kEvicted;
    return queue_.PutOff(
        event,
        member.awake_at + (later ? draws_.Delay(spec_.faults.messages) : 0));
  }
  if (event.kind == EventKind::kRefresh) {
    TakeRefresh(event.worker, event.argument);
  } else if (event.kind == EventKind::kAbandon) {
    TakeAbandon(event.worker, event.argument);
  } else if (event.kind == EventKind::kShardMoved) {
    HearOfShard(event.worker, static_cast<uint32_t>(event.argument));
  } else {
    Evicted(event.worker);
  }
}

void VirtualCluster::HandleWorker(const TimedEvent& event) {
  if (event.argument != MemberOf(event.worker).generation) return;
  switch (event.kind) {
    case EventKind::kPull:
      return Pull(event.worker);
    case EventKind::kPullServed:
      return PullServed(event.worker);
    case EventKind::kWeightsArrive:
      if (Hindered(event)) return;
      return AskForDevice(event.worker);
    case EventKind::kComputed:
      if (Hindered(event)) return;
      return Computed(event.worker);
    case EventKind::kGradientReady:
      return GradientReady(event.worker);
    case EventKind::kPlanArrives:
      if (Hindered(event)) return;
      return Push(event.worker);
    case EventKind::kExtensionArrives:
      if (Hindered(event)) return;
      return GoOn(event.worker);
    case EventKind::kPushArrives:
      return PushArrives(event.worker);
    case EventKind::kPushServed:
      return PushServed(event.worker);
    case EventKind::kPushDone:
      return PushDone(event.worker);
    case EventKind::kAbandoned:
      return Abandoned(event.worker);
    case EventKind::kDeparted:
      return Give(MemberGone{WorkerId{event.worker}, LossReason::kDeparted});
    default:
      return HandleLife(event);
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
  worker.not_finite = Happens(spec_.faults.worker_not_finite);
  worker.index = index;
  worker.waits_since = now_;
  latest_[index] = ToNumber(id);
  for (VirtualServer& server : servers_) {
    server.AddWorker();
    if (spec_.whole_run) worker.links.push_back({.life = server.life()});
  }
  statistics_.Joined(index, now_);
  Tell(&ClusterObserver::Joined, now_, id, index);
}

void VirtualCluster::Join(size_t index) {
  const int64_t latest = latest_[index];
  if (latest >= 0 && workers_[latest].alive) return;
  if (course_->stage() == RunStage::kEnded) return;
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

void VirtualCluster::LetPilotLook() {
  // Its events are not to keep a run going that has nobody left.
  if (core().finished() || (queue_.empty() && core().member_count() == 0)) {
    return;
  }
  const ClusterPilot::Answer answer = spec_.pilot->Look(now_, *course_);
  if (answer.to.has_value()) {
    Give(SwitchRun{answer.to->paradigm, answer.reason, answer.to->batching,
                   /*with_closing=*/true});
  }
  Send(EventKind::kPilotLooks, 0, now_ + answer.again_after);
}

}  // namespace paceline
