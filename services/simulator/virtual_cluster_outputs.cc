// What becomes of the outputs of a VirtualCluster's core, and its servers.

#include <utility>

#include "common/overloaded.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {

void VirtualCluster::Deliver() {
  // Nothing that follows from an output calls the core before time goes on.
  for (const Output& output : outputs_) {
    observer_.Decided(now_, output);
    Perform(output);
  }
  outputs_.clear();
}

void VirtualCluster::Perform(const Output& output) {
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
          [&](const CloseCommand& o) {
            statistics_.Closed();
            closed_at_ = now_ + spec_.server_latency;
            SendToServers(o);
          },
          [&](const FenceCommand& o) { SendToServers(o); },
          [&](const SnapshotCommand& o) { SendToServers(o); },
          [&](const paceline::Evicted& o) {
            const uint32_t id = ToNumber(o.worker);
            --members_;
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
          [](const Finished&) {}},
      output);
}

void VirtualCluster::SendToServers(const ServerCommand& command) {
  to_servers_.push_back(command);
  Send(EventKind::kServerCommand, 0, now_ + spec_.server_latency);
}

void VirtualCluster::ServerTakes() {
  const ServerCommand command = std::move(to_servers_.front());
  to_servers_.pop_front();
  std::visit(
      Overloaded{[&](const CloseCommand& o) { observer_.Closed(now_, o); },
                 [&](const SnapshotCommand& o) {
                   observer_.SnapshotTaken(now_, o);
                   if (!o.last && observer_.Enough()) {
                     core_.Seal(ToTime(now_), outputs_);
                     Deliver();
                   }
                 },
                 [&](const FenceCommand& o) {
                   Of(o.worker).fenced = true;
                   Send(EventKind::kFenceAnswered, ToNumber(o.worker),
                        now_ + spec_.server_latency);
                 }},
      command);
}

void VirtualCluster::FenceAnswered(uint32_t worker) {
  const VirtualWorker& fenced = workers_[worker];
  for (int server = 0; server < spec_.sync.servers; ++server) {
    core_.FenceAnswered(ToTime(now_), WorkerId{worker},
                        {.server = server,
                         .iteration = fenced.taken,
                         .blocks_taken = fenced.taken > 0 ? 1u : 0u,
                         .blocks = 1,
                         .samples = fenced.taken_samples},
                        outputs_);
    Deliver();
  }
}

}  // namespace paceline
