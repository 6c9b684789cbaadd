// What becomes of the outputs of a VirtualCluster's course.

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
            Of(o.worker).dropped = o.iteration;
            Send(EventKind::kAbandon, id, ArrivalAtMember(id), o.iteration);
          },
          [&](const NumberedCommand& o) { SendToServers(o); },
          [&](const ResendCommands& o) { Resend(o); },
          [&](const HostBackup& o) { OrderServer(o); },
          [&](const SetBackup& o) { OrderServer(o); },
          [&](const PromoteBackup& o) { OrderServer(o); },
          [&](const ShardMoved& o) { TellWorkers(o); },
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

}  // namespace paceline
