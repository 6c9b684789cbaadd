// What becomes of the outputs of a VirtualCluster's course, and its servers.

#include <utility>

#include "common/overloaded.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {

void VirtualCluster::Give(const RunInput& input) {
  std::vector<RunOutput> outputs;
  const absl::Status taken = course_.Step(ToTime(now_), input, outputs);
  // What is refused is late news of somebody who was given up; all else would
  // be a mistake of this driver.
  CHECK(taken.ok() || absl::IsNotFound(taken));
  // Nothing that follows from an output steps the course before time goes on.
  for (const RunOutput& output : outputs) {
    observer_.Decided(now_, output);
    Perform(output);
  }
}

void VirtualCluster::Perform(const RunOutput& output) {
  std::visit(
      Overloaded{
          [&](const Grant& o) { TakeGrant(o); },
          [&](const PlanCommand& o) { SendPlan(o); },
          [&](const RefreshCommand& o) {
            const uint32_t id = ToNumber(o.worker);
            Send(EventKind::kRefresh, id, now_ + LatencyOf(id), o.iteration);
          },
          [&](const AbandonCommand& o) {
            const uint32_t id = ToNumber(o.worker);
            Send(EventKind::kAbandon, id, now_ + LatencyOf(id), o.iteration);
          },
          [&](const NumberedCommand& o) { SendToServers(o); },
          [&](const paceline::Evicted& o) {
            const uint32_t id = ToNumber(o.worker);
            if (o.reason != LossReason::kDeparted) statistics_.Lost();
            Send(EventKind::kEvicted, id, now_ + LatencyOf(id));
          },
          [&](const PushCounted& o) {
            statistics_.Counted(Of(o.worker).index, o);
          },
          [&](const Recorded& o) {
            statistics_.Decided(Of(o.decision.worker).index, o.decision);
          },
          [&](const Switched& o) { statistics_.Switched(o); },
          [&](const SwitchSettled& o) { statistics_.Settled(o); },
          [](const auto&) {}},
      output);
}

void VirtualCluster::SendToServers(const NumberedCommand& command) {
  // They host the blocks before time begins.
  if (std::holds_alternative<HostBlocks>(command.command)) return;
  if (std::holds_alternative<CloseCommand>(command.command)) {
    statistics_.Closed();
    closed_at_ = now_ + spec_.server_latency;
  }
  to_servers_.push_back(command);
  Send(EventKind::kServerCommand, 0, now_ + spec_.server_latency);
}

void VirtualCluster::ServerTakes() {
  const NumberedCommand command = std::move(to_servers_.front());
  to_servers_.pop_front();
  to_answer_.push_back(command);
  Send(EventKind::kServerAnswers, 0, now_ + spec_.server_latency);
  std::visit(
      Overloaded{[&](const CloseCommand& o) { observer_.Closed(now_, o); },
                 [&](const SnapshotCommand& o) { Evaluate(o); },
                 [&](const FenceIncarnation& o) {
                   WorkerOf(o.incarnation).fenced = true;
                 },
                 [](const auto&) {}},
      command.command);
}

void VirtualCluster::Evaluate(const SnapshotCommand& snapshot) {
  MemberEvaluated evaluated;
  evaluated.worker = kEvaluator;
  evaluated.snapshot = snapshot.snapshot;
  observer_.SnapshotTaken(now_, snapshot, evaluated);
  Give(evaluated);
}

void VirtualCluster::ServerAnswers() {
  const NumberedCommand command = std::move(to_answer_.front());
  to_answer_.pop_front();
  const auto* fence = std::get_if<FenceIncarnation>(&command.command);
  AnswerAll(command.sequence,
            fence == nullptr ? nullptr : &WorkerOf(fence->incarnation));
}

void VirtualCluster::AnswerAll(uint64_t sequence, const VirtualWorker* fenced) {
  for (int server = 0; server < spec_.servers; ++server) {
    CommandDone done;
    done.server = server;
    done.sequence = sequence;
    if (fenced != nullptr) {
      done.fence = FenceAnswer{.server = server,
                               .iteration = fenced->taken,
                               .blocks_taken = fenced->taken > 0 ? 1u : 0u,
                               .blocks = 1,
                               .samples = fenced->taken_samples};
    }
    Give(done);
  }
}

}  // namespace paceline
