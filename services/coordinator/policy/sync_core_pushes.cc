// What SyncCore does with pushes: those of its members, and the last ones of
// those whom it has lost.

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "services/coordinator/policy/sync_core.h"

namespace paceline {
namespace {

bool IsImmediate(const OpenGrant& grant) {
  return grant.plan.kind == PushPlan::Kind::kImmediate;
}

bool IsRound(const OpenGrant& grant) {
  return grant.plan.kind == PushPlan::Kind::kRound;
}

// Of a range that a push covered. One that was discarded before it named any
// samples would fail again on them: then all of them are used up.
uint32_t SamplesUsed(const PushReport& report, const SampleRange& range) {
  if (report.discarded && report.samples == 0) return range.size();
  return report.samples;
}

}  // namespace

absl::Status SyncCore::Validate(WorkerId worker, Iteration iteration) const {
  const auto it = members_.find(worker);
  if (it == members_.end()) {
    return absl::NotFoundError(
        absl::StrCat("worker ", ToNumber(worker),
                     " is no member of the job; it must register anew"));
  }
  const Member& member = it->second;
  if (member.phase != Phase::kComputing ||
      member.grant.iteration != iteration) {
    return absl::FailedPreconditionError(absl::StrCat(
        "iteration ", iteration, " of worker ", ToNumber(worker),
        " is not open; the last one granted is ", member.grant.iteration));
  }
  return absl::OkStatus();
}

absl::Status SyncCore::Validate(WorkerId worker,
                                const PushReport& report) const {
  PACELINE_RETURN_IF_ERROR(Validate(worker, report.iteration));
  const Member& member = members_.at(worker);
  if (member.grant.plan.kind == PushPlan::Kind::kAsk && !report.discarded) {
    return absl::FailedPreconditionError(
        absl::StrCat("iteration ", report.iteration, " of worker ",
                     ToNumber(worker), " was pushed without a plan"));
  }
  if (report.samples > member.grant.range.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker ", ToNumber(worker), " reports ", report.samples,
                     " samples of a range of ", member.grant.range.size()));
  }
  return absl::OkStatus();
}

PushDone SyncCore::CountPush(const Step& step, WorkerId worker, Member& member,
                             const PushReport& report) {
  const OpenGrant& grant = member.grant;
  // Without samples there was nothing to push.
  const bool pushed = !report.discarded && report.samples > 0;
  const bool updates = pushed && IsImmediate(grant);
  PushCounted counted{.worker = worker,
                      .gap = clocks_.Advance(worker),
                      .staleness = version_ - grant.base_version,
                      .samples = SamplesUsed(report, grant.range)};
  member.phase = Phase::kWaiting;
  membership_.GrantClosed(step.now, worker);
  dealer_.Count(grant.range, counted.samples);
  if (IsRound(grant)) {
    rounds_.Ended(grant.plan.round, pushed);
    if (pushed) Gather(grant, counted.samples);
  }
  if (updates) ++version_;
  counted.version = version_;
  step.outputs.push_back(counted);
  const bool planned_discard = grant.plan.kind == PushPlan::Kind::kDiscard;
  if (report.discarded && !planned_discard) {
    Record(step, {DecisionKind::kPushDiscarded, worker, report.iteration});
  }
  if (report.blocks_refused > 0) {
    Record(step, {DecisionKind::kBlocksRefused, worker, report.iteration,
                  report.blocks_refused, report.blocks});
  }
  if (updates) SnapshotIfDue(step);
  // Nobody else would close a round of an earlier reign.
  if (IsRound(grant) && pushed && grant.plan.round < first_round_) {
    Close(step, {grant.plan.round});
  }
  EndOldPlan(step, worker);
  // What was computed, be it in vain by its plan, says how fast the worker is;
  // what broke off does not.
  const bool measured = counted.samples > 0 && (pushed || planned_discard);
  // Of a short range the fixed costs make the most.
  if (measured && grant.range.size() >= member.usual) {
    MeasurePace(step, worker, step.now - member.granted, counted.samples);
  }
  const double share = static_cast<double>(counted.samples) / member.usual;
  return {worker, measured ? share : 0, pushed};
}

void SyncCore::Gather(const OpenGrant& grant, uint32_t samples) {
  const SampleRange& range = grant.range;
  gathered_[grant.plan.round].push_back(
      {range.epoch, range.begin, range.begin + samples});
}

void SyncCore::MeasurePace(const Step& step, WorkerId worker,
                           absl::Duration busy, uint32_t samples) {
  balancer_.Pushed(worker, busy, samples);
  const auto change = stragglers_.Pushed(worker, busy, samples);
  if (!change.has_value()) return;
  Record(step, {change->straggler ? DecisionKind::kStraggler
                                  : DecisionKind::kNoStraggler,
                worker, static_cast<int64_t>(change->score * 1000)});
  events_.push_back(Flagged{worker, change->straggler});
}

void SyncCore::Leave(absl::Time now, WorkerId worker, LossReason reason,
                     std::vector<Output>& outputs) {
  if (finished_ || !members_.contains(worker)) return;
  const Step step{now, outputs};
  Remove(step, worker, reason);
  Settle(step);
}

void SyncCore::Remove(const Step& step, WorkerId worker, LossReason reason) {
  const auto it = members_.find(worker);
  CHECK(it != members_.end());
  std::optional<OpenGrant> open;
  if (it->second.phase == Phase::kComputing) {
    open = it->second.grant;
    if (IsRound(*open)) rounds_.Lost(open->plan.round);
  }
  resumed_ -= it->second.resumed ? 1 : 0;
  members_.erase(it);
  idle_.erase(worker);
  membership_.Leave(worker);
  stragglers_.Leave(worker);
  balancer_.Leave(worker);
  fences_.Open(worker, open, closing_);
  events_.push_back(Left{worker});

  Record(step, {DecisionKind::kLost, worker, static_cast<int64_t>(reason),
                open ? open->iteration : 0});
  step.outputs.push_back(Evicted{worker, reason});
  // Before any closing that the loss causes: what a frozen worker pushes later
  // must not slip in front of it. Also without an open grant, for its retries.
  step.outputs.push_back(FenceCommand{worker});
  EndOldPlan(step, worker);
}

void SyncCore::FenceAnswered(absl::Time now, WorkerId worker,
                             const FenceAnswer& answer,
                             std::vector<Output>& outputs) {
  const std::optional<FenceOutcome> loss = fences_.Answer(worker, answer);
  if (!loss) return;
  const Step step{now, outputs};
  if (loss->grant) SettleLoss(step, worker, *loss);
  Settle(step);
}

void SyncCore::SettleLoss(const Step& step, WorkerId worker,
                          const FenceOutcome& loss) {
  uint32_t counted = 0;
  if (loss.whole()) {
    counted = CountLostPush(step, worker, loss);
  } else {
    ReturnLostRange(step, worker, loss);
  }
  if (!IsRound(*loss.grant)) return;
  // Leftovers of a round never stay behind. While another member's plan for it
  // is open, that member's push has it closed.
  const RoundId round = loss.grant->plan.round;
  const bool held = rounds_.Answered(round, loss.fenced_at, loss.taken > 0);
  if (held && loss.whole()) Gather(*loss.grant, counted);
  if (rounds_.Orphaned(round)) Close(step, {round});
}

uint32_t SyncCore::CountLostPush(const Step& step, WorkerId worker,
                                 const FenceOutcome& loss) {
  const SampleRange& range = loss.grant->range;
  PushCounted counted{.worker = worker,
                      .staleness = version_ - loss.grant->base_version,
                      .samples = loss.samples == 0
                                     ? range.size()
                                     : std::min(loss.samples, range.size())};
  dealer_.Count(range, counted.samples);
  if (IsImmediate(*loss.grant)) ++version_;
  counted.version = version_;
  step.outputs.push_back(counted);
  Record(step, {DecisionKind::kLostPushTaken, worker, loss.grant->iteration});
  if (IsImmediate(*loss.grant)) SnapshotIfDue(step);
  return counted.samples;
}

void SyncCore::ReturnLostRange(const Step& step, WorkerId worker,
                               const FenceOutcome& loss) {
  const SampleRange& range = loss.grant->range;
  dealer_.Return(range);
  if (!dealer_.sealed()) {
    Record(step, {DecisionKind::kRangeReturned, worker, range.epoch,
                  range.begin, range.end});
  }
  if (loss.taken == 0) return;
  Record(step, {DecisionKind::kPartialPush, worker, loss.grant->iteration,
                loss.taken, loss.blocks});
}

}  // namespace paceline
