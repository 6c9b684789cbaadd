// What becomes of the outputs of a VirtualCluster's course, and its servers.

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/overloaded.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {

void VirtualCluster::Give(const RunInput& input) {
  const absl::Status taken = Offer(input);
  // What is refused is late news of somebody who was given up; all else would
  // be a mistake of this driver. Of a whole run the observer judges.
  CHECK(taken.ok() || absl::IsNotFound(taken) || spec_.whole_run);
}

absl::Status VirtualCluster::Offer(const RunInput& input) {
  Tell(&ClusterObserver::Given, now_, input);
  const Faults& faults = spec_.faults;
  if (faults.coordinator_dies > 0 || faults.coordinator_dies_at > 0) {
    inputs_.emplace_back(now_, input);
  }
  std::vector<RunOutput> outputs;
  absl::Status taken = course_->Step(ToTime(now_), input, outputs);
  // Nothing that follows from an output steps the course before time goes on.
  for (const RunOutput& output : outputs) {
    Tell(&ClusterObserver::Decided, now_, output);
    Perform(output);
  }
  Tell(&ClusterObserver::Stepped, now_, *course_, taken);
  if (draws_.CoordinatorDies()) Send(EventKind::kCoordinatorDies, 0, now_);
  return taken;
}

void VirtualCluster::Perform(const RunOutput& output) {
  std::visit(
      Overloaded{
          [&](const Grant& o) { TakeGrant(o); },
          [&](const PlanCommand& o) { SendPlan(o); },
          [&](const ExtendCommand& o) { SendExtension(o); },
          [&](const RefreshCommand& o) {
            const uint32_t id = ToNumber(o.worker);
            Send(EventKind::kRefresh, id, ArrivalAtMember(id), o.iteration);
          },
          [&](const AbandonCommand& o) {
            const uint32_t id = ToNumber(o.worker);
            Send(EventKind::kAbandon, id, ArrivalAtMember(id), o.iteration);
          },
          [&](const NumberedCommand& o) { SendToServers(o); },
          [&](const ResendCommands& o) { Resend(o); },
          [&](const paceline::Evicted& o) {
            if (o.reason != LossReason::kDeparted) statistics_.Lost();
          },
          [&](const MemberLetGo& o) {
            const uint32_t id = ToNumber(o.worker);
            Send(EventKind::kEvicted, id, ArrivalAtMember(id));
          },
          [&](const PushCounted& o) {
            statistics_.Counted(Of(o.worker).index, o);
          },
          [&](const Recorded& o) {
            statistics_.Decided(Of(o.decision.worker).index, o.decision);
          },
          [&](const Switched& o) { statistics_.Switched(o); },
          [&](const SwitchSettled& o) { statistics_.Settled(o); },
          [&](const auto&) {
            if (spec_.whole_run) PerformLife(output);
          }},
      output);
}

void VirtualCluster::SendToServers(const NumberedCommand& command) {
  if (!spec_.whole_run && std::holds_alternative<HostBlocks>(command.command)) {
    return;  // They host the blocks before time begins.
  }
  Nanos last = 0;
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i].away()) continue;
    SendToServer(i, command);
    last = std::max(last, servers_[i].last_there);
  }
  if (!std::holds_alternative<CloseCommand>(command.command)) return;
  statistics_.Closed();
  closed_at_ = last;
}

void VirtualCluster::SendToServer(uint32_t number,
                                  const NumberedCommand& command) {
  VirtualServer& server = servers_[number];
  server.Send(command);
  server.last_there = std::max(
      server.last_there,
      now_ + spec_.server_latency + draws_.Late(spec_.faults.commanding, now_));
  Send(EventKind::kServerCommand, number, server.last_there);
}

void VirtualCluster::Resend(const ResendCommands& resend) {
  const auto number = static_cast<uint32_t>(resend.shard);
  VirtualServer& server = servers_[number];
  for (const NumberedCommand& command : resend.commands) {
    if (command.sequence > server.performed()) {
      SendToServer(number, command);
      continue;
    }
    server.Repeat(command);
    server.last_back =
        std::max(server.last_back, now_ + 2 * spec_.server_latency);
    Send(EventKind::kServerAnswers, number, server.last_back);
    if (const auto* write = std::get_if<WriteBlocks>(&command.command)) {
      Send(EventKind::kPartWritten, number,
           now_ + draws_.Delay(spec_.faults.writing), write->snapshot);
    }
  }
}

void VirtualCluster::ServerTakes(uint32_t number) {
  VirtualServer& server = servers_[number];
  if (!server.has_command()) return;  // It was lost on its way.
  if (Happens(spec_.faults.server_hangs)) server.Hang();
  if (server.hangs()) return;
  const NumberedCommand& command = server.Perform();
  for (int each = server.first(); each < server.end(); ++each) {
    Tell(&ClusterObserver::Performed, now_, each, command);
  }
  server.last_back = std::max(
      server.last_back,
      now_ + spec_.server_latency + draws_.Late(spec_.faults.commanding, now_));
  Send(EventKind::kServerAnswers, number, server.last_back);
  if (const auto* write = std::get_if<WriteBlocks>(&command.command)) {
    Send(EventKind::kPartWritten, number,
         now_ + draws_.Delay(spec_.faults.writing), write->snapshot);
  }
  for (const VirtualServer& other : servers_) {
    if (other.performed() < command.sequence) return;
  }
  if (const auto* close = std::get_if<CloseCommand>(&command.command)) {
    Tell(&ClusterObserver::Closed, now_, *close);
  }
  if (const auto* taken = std::get_if<SnapshotCommand>(&command.command)) {
    Evaluate(*taken);
  }
}

void VirtualCluster::Evaluate(const SnapshotCommand& snapshot) {
  MemberEvaluated evaluated;
  evaluated.worker = kEvaluator;
  evaluated.snapshot = snapshot.snapshot;
  Tell(&ClusterObserver::SnapshotTaken, now_, snapshot, evaluated);
  if (spec_.whole_run) {
    results_[evaluated.snapshot] = evaluated;
  } else {
    Give(evaluated);
  }
}

void VirtualCluster::ServerAnswers(uint32_t number) {
  VirtualServer& server = servers_[number];
  if (!server.has_answer()) return;  // It was lost on its way.
  const bool refused =
      std::holds_alternative<SnapshotCommand>(server.to_answer().command) &&
      Happens(spec_.faults.snapshot_refused);
  for (CommandDone& done : server.Answer()) {
    if (refused) done.status = absl::ResourceExhaustedError("no room");
    Give(done);
    if (done.fence.has_value() && Happens(spec_.faults.fence_repeated)) {
      Give(done);
    }
  }
}

}  // namespace paceline
