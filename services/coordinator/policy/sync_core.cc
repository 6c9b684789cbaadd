#include "services/coordinator/policy/sync_core.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "common/status.h"

namespace paceline {

SyncCore::SyncCore(const SyncOptions& options,
                   std::unique_ptr<SyncPolicy> policy)
    : options_(options),
      schedule_(options.schedule),
      policy_(std::move(policy)),
      dealer_(options.train_samples, options.epochs, options.batch_size),
      membership_(options.lease),
      fences_(options.servers),
      balancer_(options.batching, options.batch_size),
      version_(options.start_version) {
  CHECK(policy_ != nullptr && options.eval_every >= 0);
  if (options.max_samples > 0) dealer_.SetLimit(options.max_samples);
  dealer_.StartAt(options.start);
  if (options.eval_every > 0) SetNextSnapshot();
}

void SyncCore::Start(absl::Time now, absl::Span<const WorkerId> workers,
                     std::vector<Output>& outputs) {
  CHECK(members_.empty() && !workers.empty());
  CHECK(std::is_sorted(workers.begin(), workers.end()));
  std::vector<AdoptedWorker> adopted;
  for (const WorkerId worker : workers) {
    Admit(now, worker);
    clocks_.Join(worker);
    adopted.push_back({worker, AdoptedWorker::Phase::kWaiting});
  }
  const Step step{now, outputs};
  policy_->Adopt(At(step), adopted, next_round_, actions_);
  for (const Action& action : actions_) Perform(step, action);
  Settle(step);
}

void SyncCore::Join(absl::Time now, WorkerId worker,
                    std::vector<Output>& outputs) {
  if (finished_) return;
  Admit(now, worker);
  events_.push_back(Joined{worker});
  Settle({now, outputs});
}

void SyncCore::Heard(absl::Time now, WorkerId worker) {
  if (members_.contains(worker)) membership_.Heard(now, worker);
}

absl::Status SyncCore::PushDone(absl::Time now, WorkerId worker,
                                const PushReport& report,
                                std::vector<Output>& outputs) {
  PACELINE_RETURN_IF_ERROR(Validate(worker, report));
  const Step step{now, outputs};
  events_.push_back(CountPush(step, worker, members_.at(worker), report));
  Settle(step);
  return absl::OkStatus();
}

void SyncCore::Seal(absl::Time now, std::vector<Output>& outputs) {
  if (finished_ || dealer_.sealed()) return;
  const Step step{now, outputs};
  dealer_.Seal();
  Record(step, {.kind = DecisionKind::kDealingStopped,
                .a = dealer_.samples_counted()});
  Settle(step);
}

void SyncCore::Tick(absl::Time now, std::vector<Output>& outputs) {
  if (finished_) return;
  const Step step{now, outputs};
  // All of them go before the policy decides anything, so that none of them is
  // granted an iteration on its way out.
  for (const auto& [worker, reason] : membership_.Expire(now)) {
    Remove(step, worker, reason);
  }
  if (policy_->NextDeadline() <= now) events_.push_back(paceline::Tick{});
  Settle(step);
}

absl::Time SyncCore::NextDeadline() const {
  if (finished_) return absl::InfiniteFuture();
  return std::min(membership_.NextDeadline(), policy_->NextDeadline());
}

std::optional<int64_t> SyncCore::LagOf(WorkerId worker) const {
  const Member& member = members_.at(worker);
  if (member.phase != Phase::kComputing) return std::nullopt;
  return version_ - member.grant.base_version;
}

std::vector<WorkerId> SyncCore::Members() const {
  std::vector<WorkerId> workers;
  workers.reserve(members_.size());
  for (const auto& [worker, member] : members_) workers.push_back(worker);
  return workers;
}

void SyncCore::Settle(const Step& step) {
  do {
    while (!events_.empty()) {
      const Event event = events_.front();
      events_.pop_front();
      ApplyToPolicy(step, event);
    }
  } while (ResumeIdle() || SwitchIfDue(step));
  FinishIfDone(step);
}

void SyncCore::ApplyToPolicy(const Step& step, const Event& event) {
  // Here, not where the event arose, so that the clocks measured are those by
  // which the policy decides.
  std::visit(
      Overloaded{[&](const Joined& e) {
                   clocks_.Join(e.worker);
                   fresh_.insert(e.worker);
                 },
                 [&](const Left& e) {
                   clocks_.Leave(e.worker);
                   fresh_.erase(e.worker);
                 },
                 [&](const Idle& e) { clocks_.SetIdle(e.worker); },
                 [&](const Resumed& e) {
                   clocks_.SetActive(e.worker);
                   fresh_.insert(e.worker);
                 },
                 // It has skipped a round: if it is released into the next
                 // one, it counts from there, as a newcomer.
                 [&](const paceline::Abandoned& e) { fresh_.insert(e.worker); },
                 [](const auto&) {}},
      event);
  actions_.clear();
  policy_->Apply(At(step), event, actions_);
  for (const Action& action : actions_) Perform(step, action);
}

void SyncCore::Perform(const Step& step, const Action& action) {
  std::visit(
      Overloaded{[&](const Release& a) { ReleaseWorker(step, a); },
                 [&](const PlanPush& a) { PlanOf(step, a.worker, a.plan); },
                 [&](const Refresh& a) { Tell(step, a); },
                 [&](const Abandon& a) { Tell(step, a); },
                 [&](const CloseRounds& a) { Close(step, a.rounds); },
                 [&](const paceline::HandOver&) { HandOver(step); },
                 [&](const Report& a) { Record(step, a.decision); }},
      action);
}

Moment SyncCore::At(const Step& step) const {
  return {step.now, version_, dealer_.samples_counted(),
          dealer_.samples_total()};
}

void SyncCore::Level(WorkerId worker, const PushPlan& plan) {
  if (plan.kind == PushPlan::Kind::kRound) {
    // Newcomers waited while the others went through a round or more. They
    // count from the round into which they are released, at its level.
    for (const WorkerId newcomer : fresh_) clocks_.SetIdle(newcomer);
    fresh_.clear();
  } else {
    fresh_.erase(worker);
  }
  clocks_.SetActive(worker);
}

void SyncCore::ReleaseWorker(const Step& step, const Release& release) {
  const WorkerId worker = release.worker;
  const PushPlan& plan = release.plan;
  const auto it = members_.find(worker);
  if (it == members_.end()) {
    // Lost in this very step; the policy is told next.
    CHECK(fences_.Contains(worker));
    return;
  }
  Member& member = it->second;
  CHECK(member.phase == Phase::kWaiting);
  resumed_ -= std::exchange(member.resumed, false) ? 1 : 0;
  member.usual = balancer_.SizeFor(worker);
  const std::optional<SampleRange> range = dealer_.Deal(member.usual);
  if (!range) {
    member.phase = Phase::kIdle;
    idle_.insert(worker);
    fresh_.erase(worker);
    events_.push_back(Idle{worker});
    return;
  }
  Level(worker, plan);
  member.phase = Phase::kComputing;
  member.grant = {member.grant.iteration + 1, *range, plan, version_};
  member.granted = step.now;
  member.reign = reign_;
  member.asks = member.abandons = false;
  membership_.GrantOpened(step.now, worker);
  Issue(plan);
  step.outputs.push_back(Grant{.worker = worker,
                               .iteration = member.grant.iteration,
                               .range = *range,
                               .closing = closing_,
                               .base_version = version_,
                               .plan = plan,
                               .rate = RateOf(plan),
                               .micro_batch = MicroBatchOf(release)});
}

void SyncCore::Close(const Step& step, absl::Span<const RoundId> rounds) {
  ++closing_;
  ++version_;
  for (const RoundId round : rounds) {
    rounds_.Drained(round, closing_);
    gathered_.erase(round);
  }
  step.outputs.push_back(
      CloseCommand{closing_,
                   {rounds.begin(), rounds.end()},
                   schedule_.RateAt(dealer_.samples_counted())});
  SnapshotIfDue(step);
}

bool SyncCore::ResumeIdle() {
  if (idle_.empty()) return false;
  const int64_t ranges = dealer_.RangesLeft();
  while (resumed_ < ranges && !idle_.empty()) {
    const WorkerId worker = *idle_.begin();
    idle_.erase(idle_.begin());
    Member& member = members_.at(worker);
    member.phase = Phase::kWaiting;
    member.resumed = true;
    ++resumed_;
    events_.push_back(Resumed{worker});
  }
  return !events_.empty();
}

void SyncCore::FinishIfDone(const Step& step) {
  // The range of an open grant is outstanding: then the dealer is not done.
  if (finished_ || !dealer_.done() || !fences_.empty()) return;
  // A policy closes the rounds that it opens. Should one have been forgotten,
  // a push that was counted would be lost.
  const std::vector<RoundId> undrained = rounds_.Undrained();
  if (!undrained.empty()) Close(step, undrained);
  Snapshot(step, /*last=*/true);
  finished_ = true;
  step.outputs.push_back(Finished{});
}

void SyncCore::Admit(absl::Time now, WorkerId worker) {
  CHECK(!fences_.Contains(worker));
  CHECK(members_.try_emplace(worker).second);
  stragglers_.Join(worker);
  balancer_.Join(worker);
  membership_.Join(now, worker);
}

void SyncCore::SnapshotIfDue(const Step& step) {
  if (options_.eval_every == 0) return;
  // The last snapshot is about to be taken of the same weights.
  if (dealer_.done()) return;
  if (dealer_.samples_counted() < next_snapshot_at_) return;
  SetNextSnapshot();
  Snapshot(step, /*last=*/false);
}

void SyncCore::SetNextSnapshot() {
  const int64_t taken = dealer_.samples_counted() / options_.eval_every;
  next_snapshot_at_ = (taken + 1) * options_.eval_every;
}

void SyncCore::SetMaxSamples(absl::Time now, int64_t samples,
                             std::vector<Output>& outputs) {
  CHECK(samples > 0);
  if (finished_) return;
  dealer_.SetLimit(samples);
  Settle({now, outputs});
}

ResumePoint SyncCore::TakeResumePoint() {
  ResumePoint point{.snapshot = ++snapshots_,
                    .version = version_,
                    .samples = dealer_.samples_counted(),
                    .position = dealer_.Position(),
                    .exact = dealer_.outstanding() == 0 && gathered_.empty()};
  for (const auto& [round, ranges] : gathered_) {
    for (const SampleRange& range : ranges) {
      point.samples -= range.size();
      point.position.open.push_back(range);
    }
  }
  std::sort(point.position.open.begin(), point.position.open.end());
  return point;
}

void SyncCore::Snapshot(const Step& step, bool last) {
  step.outputs.push_back(SnapshotCommand{
      ++snapshots_, version_, dealer_.samples_counted(), closing_, last});
}

void SyncCore::Record(const Step& step, const Decision& decision) {
  step.outputs.push_back(Recorded{step.now, decision});
}

}  // namespace paceline
