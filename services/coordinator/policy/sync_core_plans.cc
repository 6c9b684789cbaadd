// What SyncCore says of an iteration while it goes on: the plan of its push,
// and that it shall end early.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "services/coordinator/policy/sync_core.h"

namespace paceline {

absl::Status SyncCore::GradientReady(absl::Time now, WorkerId worker,
                                     Iteration iteration,
                                     std::vector<Output>& outputs) {
  PACELINE_RETURN_IF_ERROR(Validate(worker, iteration));
  Member& member = members_.at(worker);
  if (member.grant.plan.kind != PushPlan::Kind::kAsk || member.asks) {
    return absl::FailedPreconditionError(
        absl::StrCat("worker ", ToNumber(worker), " has the plan of iteration ",
                     iteration, " already"));
  }
  const Step step{now, outputs};
  member.asks = true;
  if (member.reign == reign_) {
    events_.push_back(
        paceline::GradientReady{worker, version_ - member.grant.base_version});
  } else {
    // The policy that would have known is gone.
    PlanOf(step, worker, PushPlan::Immediate());
  }
  Settle(step);
  return absl::OkStatus();
}

absl::Status SyncCore::Abandoned(absl::Time now, WorkerId worker,
                                 Iteration iteration,
                                 std::vector<Output>& outputs) {
  PACELINE_RETURN_IF_ERROR(Validate(worker, iteration));
  Member& member = members_.at(worker);
  if (!member.abandons) {
    return absl::FailedPreconditionError(
        absl::StrCat("worker ", ToNumber(worker),
                     " was not told to drop iteration ", iteration));
  }
  const Step step{now, outputs};
  const OpenGrant& grant = member.grant;
  member.phase = Phase::kWaiting;
  membership_.GrantDropped(now, worker);
  dealer_.Return(grant.range);
  balancer_.Abandoned(worker, now - member.granted);
  Record(step, {DecisionKind::kAbandoned, worker, iteration});
  if (grant.plan.kind == PushPlan::Kind::kRound) {
    rounds_.Ended(grant.plan.round, /*gathered=*/false);
  }
  EndOldPlan(step, worker);
  events_.push_back(paceline::Abandoned{worker});
  Settle(step);
  return absl::OkStatus();
}

void SyncCore::PlanOf(const Step& step, WorkerId worker, const PushPlan& plan) {
  CHECK(plan.kind != PushPlan::Kind::kAsk);
  const auto it = members_.find(worker);
  if (it == members_.end()) return;  // Lost in this very step.
  Member& member = it->second;
  CHECK(member.asks);
  member.asks = false;
  member.grant.plan = plan;
  Issue(plan);
  step.outputs.push_back(
      PlanCommand{worker, member.grant.iteration, plan, RateOf(plan)});
}

void SyncCore::Issue(const PushPlan& plan) {
  if (plan.kind != PushPlan::Kind::kRound) return;
  rounds_.Issued(plan.round);
  next_round_ = std::max(next_round_, RoundId{ToNumber(plan.round) + 1});
}

double SyncCore::RateOf(const PushPlan& plan) const {
  if (plan.kind != PushPlan::Kind::kImmediate) return 0;
  return schedule_.RateAt(dealer_.samples_counted());
}

uint32_t SyncCore::MicroBatchOf(const Release& release) const {
  if (release.pieces == 0) return 0;
  const auto pieces = static_cast<uint32_t>(release.pieces);
  return (options_.batch_size + pieces - 1) / pieces;
}

void SyncCore::Tell(const Step& step, const Refresh& refresh) {
  const auto it = members_.find(refresh.worker);
  if (it == members_.end() || it->second.phase != Phase::kComputing) return;
  step.outputs.push_back(
      RefreshCommand{refresh.worker, it->second.grant.iteration});
}

void SyncCore::Tell(const Step& step, const Abandon& abandon) {
  const auto it = members_.find(abandon.worker);
  if (it == members_.end() || it->second.phase != Phase::kComputing) return;
  it->second.abandons = true;
  step.outputs.push_back(
      AbandonCommand{abandon.worker, it->second.grant.iteration});
}

}  // namespace paceline
