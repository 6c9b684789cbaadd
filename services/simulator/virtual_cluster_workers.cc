// What the workers of a VirtualCluster do, step by step.

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/micro_batches.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {
namespace {

using Stage = VirtualWorker::Stage;

// Moments of its iteration that come after `until` did not come about.
IterationTimes TimesOf(const VirtualWorker& worker, Nanos until) {
  const auto reached = [&](Stage stage, Nanos at) {
    return worker.stage >= stage ? std::min(at, until) : until;
  };
  return {.granted = std::min(worker.granted, until),
          .began = reached(Stage::kQueued, worker.began),
          .ended = reached(Stage::kComputing, worker.ended),
          .planned = reached(Stage::kPushing, worker.planned),
          .reported = until};
}

}  // namespace

void VirtualCluster::Next(uint32_t id, EventKind kind, Nanos at) {
  Send(kind, id, at, ++MemberOf(id).generation);
}

void VirtualCluster::Send(EventKind kind, uint32_t id, Nanos at,
                          int64_t argument) {
  queue_.Push({.at = at, .kind = kind, .worker = id, .argument = argument});
}

Nanos VirtualCluster::LatencyOf(uint32_t id) const {
  return IsEvaluator(id) ? 0 : spec_.workers[workers_[id].index].link.latency;
}

SampleWishes VirtualCluster::WishesOf(uint32_t id) const {
  return IsEvaluator(id) ? SampleWishes{}
                         : spec_.workers[workers_[id].index].wishes;
}

Nanos VirtualCluster::WayOf(uint32_t id) {
  return LatencyOf(id) + draws_.Late(spec_.faults.messages, now_);
}

Nanos VirtualCluster::ArrivalAtMember(uint32_t id) {
  Nanos& last = MemberOf(id).last_there;
  return last = std::max(last, now_ + WayOf(id));
}

Nanos VirtualCluster::ArrivalFromMember(uint32_t id) {
  Nanos& last = MemberOf(id).last_back;
  return last = std::max(last, now_ + WayOf(id));
}

Nanos VirtualCluster::TransferTime(const VirtualWorker& worker) const {
  const LinkSpec& link = spec_.workers[worker.index].link;
  const double rate = link.bytes_per_second * spec_.servers;
  if (rate == 0) return 0;
  return std::llround(
      std::ceil(static_cast<double>(spec_.model_bytes) * 1e9 / rate));
}

void VirtualCluster::TakeGrant(const Grant& grant) {
  VirtualWorker& worker = Of(grant.worker);
  const uint32_t id = ToNumber(grant.worker);
  // Grants that find nobody: the lease, or the farewell, has to come.
  if (!worker.alive) return;
  CHECK(worker.stage == Stage::kWaiting);
  const Nanos latency = LatencyOf(id);
  worker.grant = grant;
  worker.stage = Stage::kPulling;
  worker.refresh = false;
  worker.granted = std::max(ArrivalAtMember(id), worker.awake_at);
  statistics_.Granted(worker.index, worker.granted - worker.waits_since);
  Next(id, EventKind::kPull, std::max(worker.granted + latency, closed_at_));
}

void VirtualCluster::Pull(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  Nanos closed = now_;
  for (const VirtualServer& server : servers_) {
    const auto there = server.ClosedAt(worker.grant.closing, now_);
    if (server.dead() || !there.has_value()) {
      parked_.emplace_back(id, worker.generation);
      return;
    }
    closed = std::max(closed, *there);
  }
  worker.iteration = devices_[DeviceOf(worker)].Next(worker.grant.range.size());
  if (Happens(spec_.faults.worker_stuck)) {
    worker.iteration.work +=
        draws_.Delay(30 * absl::ToInt64Nanoseconds(spec_.run.lease));
  }
  // A recorded time includes what the servers were busy with, but for the
  // closing. Otherwise the closing is one of those before it.
  const Nanos served =
      worker.iteration.pull.has_value() ? closed : load_.ServePull(now_);
  if (served == now_) return PullServed(id);
  Next(id, EventKind::kPullServed, served);
}

void VirtualCluster::PullServed(uint32_t id) {
  const VirtualWorker& worker = workers_[id];
  Tell(&ClusterObserver::Pulled, now_, worker.grant);
  DeviceQueue* const queue = QueueOf(worker);
  if (Shares(worker.iteration.pull)) {
    return Transfer(id, Direction::kFromServers);
  }
  const Nanos latency = LatencyOf(id);
  if (queue != nullptr && !worker.iteration.pull.has_value()) {
    return HaveWeights(id,
                       queue->Receive(now_, TransferTime(worker)) + latency);
  }
  // A recorded time includes the request's way.
  HaveWeights(
      id, now_ + std::max<Nanos>(0, worker.iteration.pull.value_or(
                                        2 * latency + TransferTime(worker)) -
                                        latency));
}

void VirtualCluster::HaveWeights(uint32_t id, Nanos at) {
  VirtualWorker& worker = workers_[id];
  worker.before = 0;
  worker.began = at;
  if (QueueOf(worker) == nullptr) return ComputeFrom(id, at);
  Next(id, EventKind::kWeightsArrive, at);
}

void VirtualCluster::AskForDevice(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  worker.stage = Stage::kQueued;
  DeviceQueue* const queue = QueueOf(worker);
  if (queue == nullptr || queue->Ask(id)) ComputeFrom(id, now_);
}

void VirtualCluster::ComputeFrom(uint32_t id, Nanos at) {
  VirtualWorker& worker = workers_[id];
  worker.stage = Stage::kComputing;
  worker.range_began = at;
  PlanCompute(worker);
  Next(id, EventKind::kComputed, worker.ended);
}

void VirtualCluster::LeaveDevice(uint32_t id) {
  DeviceQueue* const queue = QueueOf(workers_[id]);
  if (queue == nullptr) return;
  if (const auto next = queue->Leave(id)) ComputeFrom(*next, now_);
}

DeviceQueue* VirtualCluster::QueueOf(const VirtualWorker& worker) {
  std::optional<DeviceQueue>& queue = queues_[DeviceOf(worker)];
  return queue.has_value() ? &*queue : nullptr;
}

// What pulls wait for may have happened.
void VirtualCluster::LetPull() {
  for (const auto& [id, generation] : std::exchange(parked_, {})) {
    if (workers_[id].generation == generation) Next(id, EventKind::kPull, now_);
  }
}

void VirtualCluster::PlanCompute(VirtualWorker& worker) const {
  const Device& device = devices_[DeviceOf(worker)];
  const std::vector<SampleRange>& extensions = worker.grant.extensions;
  const uint32_t size =
      (extensions.empty() ? worker.grant.range : extensions.back()).size();
  const Nanos work = worker.iteration.work;
  const uint32_t piece = MicroBatchSize(
      size, MicroBatchLimit(spec_.run.batch_size, spec_.micro_batch,
                            spec_.workers[worker.index].wishes.micro_batch,
                            worker.grant.micro_batch));
  // The iteration's first micro-batch costs nothing.
  const int64_t first = extensions.empty() ? -1 : 0;
  const auto costly = [&](uint32_t done) {
    return first + (int64_t{done} + piece - 1) / piece;
  };
  worker.samples = worker.before + size;
  worker.ended = device.Finish(worker.range_began, work, costly(size));
  if (!worker.refresh) return;
  for (uint32_t done = piece; done < size; done += piece) {
    const Nanos boundary = device.Finish(worker.range_began,
                                         Share(work, done, size), costly(done));
    if (boundary < now_) continue;
    worker.samples = worker.before + done;
    worker.ended = boundary;
    return;
  }
}

void VirtualCluster::Computed(uint32_t id) {
  LeaveDevice(id);
  VirtualWorker& worker = workers_[id];
  Tell(&ClusterObserver::Computed, now_, worker.grant, worker.samples);
  if (worker.grant.plan.kind == PushPlan::Kind::kAsk) {
    worker.stage = Stage::kAsking;
    Next(id, EventKind::kGradientReady, ArrivalFromMember(id));
    return;
  }
  Push(id);
}

void VirtualCluster::GradientReady(uint32_t id) {
  Give(WorkerAsks{WorkerId{id}, workers_[id].grant.iteration});
}

void VirtualCluster::SendPlan(const PlanCommand& command) {
  VirtualWorker& worker = Of(command.worker);
  const uint32_t id = ToNumber(command.worker);
  // It may have dropped the iteration since it asked, or is about to: the order
  // to do so is ahead of the plan, also where both arrive at one instant.
  if (!worker.alive || worker.stage != Stage::kAsking ||
      worker.grant.iteration != command.iteration ||
      worker.dropped == command.iteration) {
    return;
  }
  worker.grant.plan = command.plan;
  worker.grant.rate = command.rate;
  worker.grant.rated_at = command.rated_at;
  worker.grant.momentum = command.momentum;
  Next(id, EventKind::kPlanArrives, ArrivalAtMember(id));
}

void VirtualCluster::SendExtension(const ExtendCommand& command) {
  VirtualWorker& worker = Of(command.worker);
  const uint32_t id = ToNumber(command.worker);
  if (!worker.alive || worker.stage != Stage::kAsking ||
      worker.grant.iteration != command.iteration) {
    return;
  }
  worker.grant.extensions.push_back(command.range);
  Next(id, EventKind::kExtensionArrives, ArrivalAtMember(id));
}

void VirtualCluster::GoOn(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  worker.before = worker.samples;
  worker.iteration.work = devices_[DeviceOf(worker)]
                              .Next(worker.grant.extensions.back().size())
                              .work;
  AskForDevice(id);
}

void VirtualCluster::Push(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  if (Happens(spec_.faults.push_short)) {
    worker.samples = static_cast<uint32_t>(1 + draws_.Below(worker.samples));
  }
  if (Happens(spec_.faults.push_empty)) worker.samples = 0;
  const Nanos latency = LatencyOf(id);
  worker.stage = Stage::kPushing;
  worker.planned = now_;
  worker.report = {
      .iteration = worker.grant.iteration,
      .samples = worker.samples,
      .blocks = 1,
      .discarded = worker.grant.plan.kind == PushPlan::Kind::kDiscard ||
                   worker.not_finite || Happens(spec_.faults.push_discarded)};
  if (worker.report.discarded || worker.samples == 0) {
    worker.sent = now_;
    Next(id, EventKind::kPushDone, ArrivalFromMember(id));
    return;
  }
  if (spec_.whole_run) return PushBlocks(id);
  if (Shares(worker.iteration.push)) return Transfer(id, Direction::kToServers);
  const Nanos takes =
      worker.iteration.push.value_or(TransferTime(worker) + 2 * latency);
  DeviceQueue* const queue = QueueOf(worker);
  // A recorded time includes the acknowledgement's way.
  worker.sent = queue != nullptr && !worker.iteration.push.has_value()
                    ? queue->Send(now_, TransferTime(worker))
                    : now_ + std::max<Nanos>(0, takes - 2 * latency);
  Next(id, EventKind::kPushArrives, worker.sent + latency);
}

void VirtualCluster::PushArrives(uint32_t id) {
  const VirtualWorker& worker = workers_[id];
  // A recorded time includes what the servers were busy with.
  const Nanos served = worker.iteration.push.has_value()
                           ? now_
                           : load_.ServePush(now_, worker.grant.plan);
  if (served == now_) return PushServed(id);
  Next(id, EventKind::kPushServed, served);
}

void VirtualCluster::PushServed(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  VirtualServer& servers = servers_.front();
  if (!servers.Take({.worker = id,
                     .iteration = worker.grant.iteration,
                     .samples = worker.samples})) {
    return;
  }
  for (int server = servers.first(); server < servers.end(); ++server) {
    Tell(&ClusterObserver::BlockTaken, now_, server, worker.grant,
         worker.samples);
  }
  Tell(&ClusterObserver::PushTaken, now_, worker.grant, worker.samples,
       worker.report);
  if (!worker.alive) return;  // Its last bytes were on their way.
  // The servers' acknowledgement, then the worker's report.
  Next(id, EventKind::kPushDone, now_ + 2 * LatencyOf(id));
}

// The gradient's blocks are made one by one, for all servers at once.
void VirtualCluster::PushBlocks(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  worker.taken = worker.acknowledged = false;
  worker.unacknowledged = 0;
  for (uint8_t server = 0; server < servers_.size(); ++server) {
    const uint32_t blocks = servers_[server].blocks();
    VirtualWorker::Link& link = worker.links[server];
    link.left = 0;
    link.acknowledged = blocks == 0;
    if (blocks > 0) ++worker.unacknowledged;
    Nanos leaves = now_;
    for (uint8_t block = 0; block < blocks; ++block) {
      leaves +=
          TransferTime(worker) / blocks + draws_.Delay(spec_.faults.pushing);
      Send(EventKind::kBlockLeaves, id, leaves,
           BlockAddress{.server = server, .block = block}.ToArgument());
    }
  }
}

void VirtualCluster::BlockLeaves(uint32_t id, const BlockAddress& address) {
  ++workers_[id].links[address.server].left;
  SendBlock(id, address);
}

void VirtualCluster::SendBlock(uint32_t id, BlockAddress address) {
  const VirtualWorker& worker = workers_[id];
  address.life = worker.links[address.server].life;
  address.iteration = static_cast<uint32_t>(worker.grant.iteration);
  Send(EventKind::kBlockArrives, id, now_ + WayOf(id), address.ToArgument());
}

void VirtualCluster::PushDone(uint32_t id) {
  const Nanos reported = now_ - LatencyOf(id);
  {
    VirtualWorker& worker = workers_[id];
    IterationOver(id, reported);
    worker.stage = Stage::kWaiting;
    worker.waits_since = reported;
    statistics_.Pushed(worker, reported);
    worker.reported = worker.report;
    if (Happens(spec_.faults.report_repeated)) {
      Send(EventKind::kReportRepeated, id, ArrivalFromMember(id));
    }
    Give(WorkerPushed{WorkerId{id}, worker.report});
  }
  const VirtualWorker& worker = workers_[id];
  if (worker.stage == Stage::kWaiting && !core().finished()) {
    statistics_.NotReleased(worker.index);
  }
  if (worker.leaving) Leave(id);
}

void VirtualCluster::TakeRefresh(uint32_t id, Iteration iteration) {
  VirtualWorker& worker = workers_[id];
  if (!worker.alive || worker.grant.iteration != iteration) return;
  if (worker.stage == Stage::kPulling || worker.stage == Stage::kQueued) {
    worker.refresh = true;
  }
  if (worker.stage != Stage::kComputing) return;
  worker.refresh = true;
  const Nanos ended = worker.ended;
  PlanCompute(worker);
  if (worker.ended != ended) Next(id, EventKind::kComputed, worker.ended);
}

void VirtualCluster::TakeAbandon(uint32_t id, Iteration iteration) {
  VirtualWorker& worker = workers_[id];
  if (!worker.alive || worker.grant.iteration != iteration) return;
  // Too late, or dropped already.
  if (worker.stage == Stage::kWaiting || worker.stage >= Stage::kPushing) {
    return;
  }
  IterationOver(id, now_);
  BreakOff(id);
  worker.stage = Stage::kDropping;
  Next(id, EventKind::kAbandoned, ArrivalFromMember(id));
}

void VirtualCluster::Abandoned(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  worker.stage = Stage::kWaiting;
  worker.waits_since = now_ - LatencyOf(id);
  statistics_.Abandoned();
  Give(WorkerAbandoned{WorkerId{id}, worker.grant.iteration});
}

void VirtualCluster::Leave(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  if (worker.stage == Stage::kPushing) {
    worker.leaving = true;
    return;
  }
  Die(id);
  Next(id, EventKind::kDeparted, ArrivalFromMember(id));
}

void VirtualCluster::Crash(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  // Its last heartbeat.
  Give(MemberHeard{WorkerId{id}});
  // What has left it whole arrives; blocks do so by themselves.
  const bool sent = !spec_.whole_run && worker.stage == Stage::kPushing &&
                    now_ >= worker.sent &&
                    servers_.front().LastOf(id) != worker.grant.iteration &&
                    worker.grant.plan.kind != PushPlan::Kind::kDiscard;
  Die(id);
  if (sent) --worker.generation;
}

void VirtualCluster::Evicted(uint32_t id) {
  if (IsEvaluator(id)) {
    EvaluatorOf(id).alive = false;
    return;
  }
  VirtualWorker& worker = workers_[id];
  if (!worker.alive) return;
  Die(id);
  if (worker.leaving) return;
  // Given up although it lives: it registers anew.
  Send(EventKind::kJoins, 0, now_ + LatencyOf(id),
       static_cast<int64_t>(worker.index));
}

void VirtualCluster::Die(uint32_t id) {
  VirtualWorker& worker = workers_[id];
  statistics_.Gone(worker, now_);
  TellGone(id);
  BreakOff(id);
  worker.alive = false;
  ++worker.generation;
}

void VirtualCluster::IterationOver(uint32_t id, Nanos until) {
  Tell(&ClusterObserver::IterationOver, now_, workers_[id].grant,
       TimesOf(workers_[id], until));
}

void VirtualCluster::TellGone(uint32_t id) {
  const Stage stage = workers_[id].stage;
  if (stage != Stage::kWaiting && stage != Stage::kDropping) {
    IterationOver(id, now_);
  }
  Tell(&ClusterObserver::Gone, now_, WorkerId{id});
}

}  // namespace paceline
