#include "services/coordinator/sync/core/sync_core.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "common/status.h"

namespace paceline {

// One call from outside: its time, and where its consequences go.
struct SyncCore::Step {
  void Record(const Decision& decision) const {
    outputs.push_back(Recorded{now, decision});
  }

  absl::Time now;
  std::vector<Output>& outputs;
};

namespace {

bool IsImmediate(const OpenGrant& grant) {
  return grant.plan.kind == PushPlan::Kind::kImmediate;
}

bool IsRound(const OpenGrant& grant) {
  return grant.plan.kind == PushPlan::Kind::kRound;
}

// How much of the worker's usual range that was. What was reserved when it was
// faster may be more than is usual now.
double ShareOf(const MemberTable::Member& member, uint32_t samples) {
  return std::min(1.0, static_cast<double>(samples) / member.usual);
}

// Nothing was pushed, and not because of the plan.
bool LossWasNotFinite(const PushReport& report, const OpenGrant& grant) {
  return report.discarded && grant.plan.kind != PushPlan::Kind::kDiscard;
}

uint32_t MicroBatchOf(const Release& release, uint32_t batch_size) {
  if (release.pieces == 0) return 0;
  const auto pieces = static_cast<uint32_t>(release.pieces);
  return (batch_size + pieces - 1) / pieces;
}

}  // namespace

SyncCore::SyncCore(const SyncOptions& options,
                   std::unique_ptr<SyncPolicy> policy)
    : options_(options),
      policy_(std::move(policy)),
      view_(options.closings_acknowledged ? options.servers : 0,
            options.batch_size),
      progress_(options),
      leases_(options.lease),
      fences_(options.servers),
      balancer_(options.batching, options.batch_size) {
  CHECK(policy_ != nullptr);
  CHECK(options.switches.empty() || options.make_policy != nullptr);
}

// What comes from outside.

void SyncCore::Start(absl::Time now, absl::Span<const NewMember> workers,
                     std::vector<Output>& outputs) {
  CHECK(members_.size() == 0 && !workers.empty());
  CHECK(std::ranges::is_sorted(workers, {}, &NewMember::worker));
  for (const NewMember& worker : workers) {
    Admit(now, worker);
    view_.Add(worker.worker);
  }
  progress_.dealer().Begin(members_.Ids());
  const Step step{now, outputs};
  LetPolicyTakeOver(step);
  Settle(step);
}

void SyncCore::SilentSince(absl::Time heard, WorkerId worker) {
  if (members_.Find(worker) != nullptr) leases_.SilentSince(heard, worker);
}

void SyncCore::Join(absl::Time now, const NewMember& worker,
                    std::vector<Output>& outputs) {
  if (finished_) return;
  Admit(now, worker);
  progress_.dealer().Join(worker.worker);
  events_.push_back(Joined{worker.worker});
  Settle({now, outputs});
}

void SyncCore::Admit(absl::Time now, const NewMember& newcomer) {
  const WorkerId worker = newcomer.worker;
  CHECK(!fences_.Contains(worker));
  members_.Join(worker, newcomer.wishes);
  finite_.Join(worker);
  stragglers_.Join(worker);
  balancer_.Join(worker);
  leases_.Join(now, worker);
}

void SyncCore::Heard(absl::Time now, WorkerId worker, bool waits_for_servers) {
  if (members_.Find(worker) == nullptr) return;
  leases_.Heard(now, worker);
  if (waits_for_servers) leases_.WaitsForServers(now, worker);
}

void SyncCore::AwaitAnew(absl::Time until, WorkerId worker) {
  if (members_.Find(worker) != nullptr) leases_.AwaitAnew(until, worker);
}

absl::Status SyncCore::PushDone(absl::Time now, WorkerId worker,
                                const PushReport& report,
                                std::vector<Output>& outputs) {
  PACELINE_ASSIGN_OR_RETURN(Member* const member,
                            members_.FindReporting(worker, report));
  const Step step{now, outputs};
  events_.push_back(CountPush(step, worker, *member, report));
  JudgeFinite(step, worker, *member, report);
  Settle(step);
  return absl::OkStatus();
}

absl::Status SyncCore::GradientReady(absl::Time now, WorkerId worker,
                                     Iteration iteration,
                                     std::vector<Output>& outputs) {
  PACELINE_ASSIGN_OR_RETURN(Member* const member,
                            members_.FindComputing(worker, iteration));
  if (member->grant.plan.kind != PushPlan::Kind::kAsk || member->asks) {
    return absl::FailedPreconditionError(
        absl::StrCat("worker ", ToNumber(worker), " has the plan of iteration ",
                     iteration, " already"));
  }
  const Step step{now, outputs};
  member->asks = true;
  if (member->term == term_) {
    events_.push_back(
        paceline::GradientReady{worker, version() - member->grant.base_version,
                                member->grant.samples()});
  } else {
    // The policy that would have known is gone.
    IssuePlan(step, {worker, PushPlan::Immediate()});
  }
  Settle(step);
  return absl::OkStatus();
}

absl::Status SyncCore::Abandoned(absl::Time now, WorkerId worker,
                                 Iteration iteration,
                                 std::vector<Output>& outputs) {
  PACELINE_ASSIGN_OR_RETURN(Member* const member,
                            members_.FindComputing(worker, iteration));
  if (!member->abandons) {
    return absl::FailedPreconditionError(
        absl::StrCat("worker ", ToNumber(worker),
                     " was not told to drop iteration ", iteration));
  }
  const Step step{now, outputs};
  const OpenGrant& grant = member->grant;
  member->computing = false;
  put_off_.Cancel(worker);
  leases_.GrantDropped(now, worker);
  for (const SampleRange& range : grant.ranges) {
    progress_.dealer().Return(range);
  }
  balancer_.Abandoned(worker, now - member->granted);
  step.Record({DecisionKind::kAbandoned, worker, iteration});
  if (IsRound(grant)) view_.mutable_rounds().Ended(grant.plan.round);
  EndOldPlan(step, worker);
  events_.push_back(paceline::Abandoned{worker});
  Settle(step);
  return absl::OkStatus();
}

void SyncCore::Switch(absl::Time now, PolicySwitch to,
                      std::vector<Output>& outputs) {
  CHECK(to.policy != nullptr);
  if (finished_) return;
  if (to.with_closing && policy_->View().gathers_all &&
      !members_.Computing().empty()) {
    next_ = std::move(to);
    return;
  }
  const Step step{now, outputs};
  SwitchTo(step, std::move(to));
  Settle(step);
}

void SyncCore::Leave(absl::Time now, WorkerId worker, LossReason reason,
                     std::vector<Output>& outputs) {
  if (finished_ || members_.Find(worker) == nullptr) return;
  const Step step{now, outputs};
  Remove(step, worker, reason);
  Settle(step);
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

void SyncCore::ClosingPerformed(absl::Time now, int server, Closing closing,
                                std::vector<Output>& outputs) {
  CHECK(options_.closings_acknowledged);
  view_.mutable_rounds().Performed(server, closing);
  if (!put_off_.empty()) Settle({now, outputs});
}

void SyncCore::Seal(absl::Time now, std::vector<Output>& outputs) {
  if (finished_ || dealer().sealed()) return;
  const Step step{now, outputs};
  progress_.dealer().Seal();
  step.Record(
      {.kind = DecisionKind::kDealingStopped, .a = dealer().samples_counted()});
  TellWithdrawn(step);
  Settle(step);
}

void SyncCore::Unseal(absl::Time now, absl::Span<const WorkerId> gone,
                      int64_t max_samples, std::vector<Output>& outputs) {
  if (!dealer().sealed()) return;
  const Step step{now, outputs};
  finished_ = false;
  progress_.dealer().Unseal();
  // Before anything is dealt. Nothing is reserved that it could withdraw.
  progress_.dealer().SetLimit(max_samples);
  step.Record(
      {.kind = DecisionKind::kDealingResumed, .a = dealer().samples_counted()});
  // Before the policy decides anything, as in Tick().
  for (const WorkerId worker : gone) {
    Remove(step, worker, LossReason::kDeparted);
  }
  Settle(step);
}

void SyncCore::SetMaxSamples(absl::Time now, int64_t samples,
                             std::vector<Output>& outputs) {
  CHECK(samples > 0);
  if (finished_) return;
  const Step step{now, outputs};
  progress_.dealer().SetLimit(samples);
  TellWithdrawn(step);
  Settle(step);
}

void SyncCore::SetBatching(absl::Time now, Batching to,
                           std::vector<Output>& outputs) {
  const bool other = to != balancer_.batching();
  balancer_.SetBatching(to);
  if (next_) next_->batching = to;
  if (!other || finished_) return;
  // Nobody is idle who could need it: there was something to take back.
  progress_.dealer().WithdrawAll();
  TellWithdrawn({now, outputs});
}

void SyncCore::Tick(absl::Time now, std::vector<Output>& outputs) {
  if (finished_) return;
  const Step step{now, outputs};
  // All of them go before the policy decides anything, so that none of them is
  // granted an iteration on its way out.
  for (const auto& [worker, reason] : leases_.Expire(now)) {
    Remove(step, worker, reason);
  }
  if (policy_->NextDeadline() <= now) events_.push_back(paceline::Tick{});
  Settle(step);
}

// The policy, and what it wants.

void SyncCore::Settle(const Step& step) {
  do {
    while (!events_.empty()) {
      const Event event = events_.front();
      events_.pop_front();
      ApplyToPolicy(step, event);
    }
    // The policy does not know what lost workers have left behind.
    for (const RoundId round : view_.mutable_rounds().TakeOrphans()) {
      Close(step, {round});
    }
    PerformPutOff(step);
  } while (!events_.empty() || ResumeIdle() || SwitchIfDue(step));
  AnnounceClosing(step);
  FinishIfDone(step);
}

void SyncCore::ApplyToPolicy(const Step& step, const Event& event) {
  view_.Tell(event);
  view_.SetProgress(step.now, version(), samples_counted(), samples_total());
  actions_.clear();
  policy_->Apply(view_, event, actions_);
  PerformActions(step);
}

void SyncCore::LetPolicyTakeOver(const Step& step) {
  view_.SetProgress(step.now, version(), samples_counted(), samples_total());
  actions_.clear();
  policy_->Adopt(view_, actions_);
  PerformActions(step);
}

void SyncCore::PerformActions(const Step& step) {
  bool closed = false;
  for (const Action& action : actions_) {
    // Whoever takes over with the closing releases them.
    if (closed && std::holds_alternative<Release>(action)) continue;
    Perform(step, action);
    closed =
        switching() && (closed || std::holds_alternative<CloseRounds>(action));
  }
  if (closed) return SwitchTo(step, *std::exchange(next_, std::nullopt));
  if (actions_.empty() || !std::holds_alternative<HandOver>(actions_.back())) {
    return;
  }
  BeginTerm(step);
  LetPolicyTakeOver(step);
}

void SyncCore::Perform(const Step& step, const Action& action) {
  // A worker that was lost in this very step computes nothing any more.
  const auto computing = [this](WorkerId worker) -> Member* {
    Member* const member = members_.Find(worker);
    return member != nullptr && member->computing ? member : nullptr;
  };
  std::visit(Overloaded{[&](const Release& a) {
                          view_.Release(a.worker);
                          StartIteration(step, a);
                        },
                        [&](const PlanPush& a) { IssuePlan(step, a); },
                        [&](const Extend& a) { ExtendIteration(step, a); },
                        [&](const Refresh& a) {
                          const Member* const member = computing(a.worker);
                          if (member == nullptr) return;
                          step.outputs.push_back(RefreshCommand{
                              a.worker, member->grant.iteration});
                        },
                        [&](const Abandon& a) {
                          Member* const member = computing(a.worker);
                          if (member == nullptr) return;
                          member->abandons = true;
                          step.outputs.push_back(AbandonCommand{
                              a.worker, member->grant.iteration});
                        },
                        [&](const CloseRounds& a) { Close(step, a.rounds); },
                        [&](const Report& a) { step.Record(a.decision); },
                        [](const HandOver&) {}},
             action);
}

void SyncCore::SwitchTo(const Step& step, PolicySwitch to) {
  next_.reset();
  // First, so that nobody is released with what was to be divided otherwise.
  if (to.batching) SetBatching(step.now, *to.batching, step.outputs);
  step.outputs.push_back(Switched{step.now, policy_->Describe(),
                                  to.policy->Describe(), std::move(to.reason),
                                  version(), samples_counted()});
  switched_at_ = step.now;
  old_plans_ = members_.Computing();
  if (old_plans_.empty()) {
    step.outputs.push_back(SwitchSettled{step.now, absl::ZeroDuration()});
  }
  BeginTerm(step);
  policy_ = std::move(to.policy);
  LetPolicyTakeOver(step);
}

bool SyncCore::SwitchIfDue(const Step& step) {
  if (switches_done_ == options_.switches.size()) return false;
  const ScheduledSwitch& next = options_.switches[switches_done_];
  // Also of a job that is sealed: whoever goes on with it begins after that.
  if (samples_counted() < next.samples ||
      samples_counted() == samples_total()) {
    return false;
  }
  ++switches_done_;
  SwitchTo(step, {options_.make_policy(next.paradigm),
                  absl::StrCat("planned at ", next.samples, " samples")});
  return true;
}

void SyncCore::BeginTerm(const Step& step) {
  ++term_;
  view_.BeginTerm(balancer_.Paces());
  // What is still on its way is drained as it arrives (CountPush).
  const std::vector<RoundId> undrained = view_.rounds().Undrained();
  if (!undrained.empty()) Close(step, undrained);
  if (closing_announced()) CloseAnnounced(step);
  for (const Action& action : put_off_.TakeAll()) {
    if (std::holds_alternative<Release>(action)) {
      view_.TakeBack(WorkerOf(action));
    } else {
      IssuePlan(step, {WorkerOf(action), PushPlan::Immediate()});
    }
  }
}

void SyncCore::EndOldPlan(const Step& step, WorkerId worker) {
  if (old_plans_.erase(worker) == 0 || !old_plans_.empty()) return;
  step.outputs.push_back(SwitchSettled{step.now, step.now - switched_at_});
}

// Iterations, their plans, and rounds.

void SyncCore::StartIteration(const Step& step, const Release& release) {
  const WorkerId worker = release.worker;
  const PushPlan& plan = release.plan;
  Member* const member = members_.Find(worker);
  if (member == nullptr) {
    // Lost in this very step; the policy is told next.
    CHECK(fences_.Contains(worker));
    return;
  }
  CHECK(!member->computing);
  if (PutOff(release, plan)) return;
  members_.Released(*member);
  const uint32_t size = SizeFor(release, *member);
  if (!release.fills_wait) member->usual = size;
  const std::optional<SampleRange> range =
      NextRange(step, worker, *member, size,
                /*at_most=*/release.samples > 0);
  if (!range) {
    members_.SetIdle(worker);
    view_.FindNothing(worker);
    events_.push_back(Idle{worker});
    return;
  }
  // The grant names a closing of which all weights are.
  if (announced_to_nobody()) CloseAnnounced(step);
  view_.Begin(worker, plan);
  member->computing = true;
  member->grant = {member->grant.iteration + 1, {*range}, plan, version()};
  member->granted = step.now;
  member->term = term_;
  member->asks = member->abandons = false;
  member->fills_wait = release.fills_wait;
  leases_.GrantOpened(step.now, worker);
  if (IsRound(member->grant)) view_.mutable_rounds().Issued(plan.round);
  step.outputs.push_back(
      Grant{.worker = worker,
            .iteration = member->grant.iteration,
            .range = *range,
            .closing = closing(),
            .base_version = version(),
            .plan = plan,
            .rate = progress_.Rate(),
            .rated_at = version(),
            .momentum = progress_.Momentum(),
            .micro_batch = MicroBatchOf(release, options_.batch_size),
            .reserved = ReserveFor(worker, *member)});
}

void SyncCore::ExtendIteration(const Step& step, const Extend& extend) {
  Member* const member = members_.Find(extend.worker);
  if (member == nullptr) return;  // Lost in this very step.
  CHECK(member->asks);
  std::optional<SampleRange> range;
  if (member->wishes.extends) {
    range = NextRange(step, extend.worker, *member,
                      WholePieces(extend.samples, *member), /*at_most=*/true);
  }
  if (!range) {
    IssuePlan(step, {extend.worker, extend.otherwise});
    return;
  }
  member->asks = false;
  member->grant.ranges.push_back(*range);
  step.outputs.push_back(
      ExtendCommand{extend.worker, member->grant.iteration, *range});
}

uint32_t SyncCore::WholePieces(uint32_t size, const Member& member) const {
  const uint32_t piece = PieceOf(member);
  if (member.wishes.micro_batch == 0) {
    // Of a whole batch there is no other part to choose.
    const bool any = piece >= options_.batch_size;
    if (member.wishes.lookahead == 0 || any) return size;
  }
  // Whole micro-batches are wished for, or loaded ahead: a part of one would
  // leave the rest to a grant of its own. One more than fits its share, and
  // others would wait for it: of a small share that is much.
  return std::max<uint32_t>(1, size / piece) * piece;
}

std::optional<SampleRange> SyncCore::NextRange(const Step& step,
                                               WorkerId worker,
                                               const Member& member,
                                               uint32_t size, bool at_most) {
  SampleDealer& dealer = progress_.dealer();
  if (member.wishes.lookahead > 0) {
    const uint32_t piece = PieceOf(member);
    const auto range = at_most ? dealer.CutAtMost(worker, size, piece)
                               : dealer.Cut(worker, size, piece);
    if (range) return range;
  }
  const auto range = dealer.Deal(size, worker);
  if (dealer.any_withdrawn()) TellWithdrawn(step);
  return range;
}

std::vector<SampleRange> SyncCore::ReserveFor(WorkerId worker,
                                              const Member& member) {
  // What fills a wait is cut from what is there. Ranges of its size would be
  // all that the next iteration gets.
  if (member.wishes.lookahead == 0 || member.fills_wait) return {};
  // Near the end, only a fair part of what is left: whoever comes first would
  // have all of it, and it would have to be withdrawn from it again.
  const int64_t fair =
      dealer().SamplesLeft() / static_cast<int64_t>(members_.size());
  return progress_.dealer().Reserve(worker, member.usual,
                                    member.wishes.lookahead, fair);
}

void SyncCore::TellWithdrawn(const Step& step) {
  for (const auto& [worker, samples] : progress_.dealer().TakeWithdrawn()) {
    step.outputs.push_back(DropReserved{worker});
    step.Record({DecisionKind::kLotWithdrawn, worker, samples});
  }
}

void SyncCore::IssuePlan(const Step& step, const PlanPush& planned) {
  const PushPlan& plan = planned.plan;
  CHECK(plan.kind != PushPlan::Kind::kAsk);
  Member* const member = members_.Find(planned.worker);
  if (member == nullptr) return;  // Lost in this very step.
  CHECK(member->asks);
  if (PutOff(planned, plan)) return;
  member->asks = false;
  member->grant.plan = plan;
  if (IsRound(member->grant)) view_.mutable_rounds().Issued(plan.round);
  step.outputs.push_back(PlanCommand{planned.worker, member->grant.iteration,
                                     plan, progress_.Rate(), version(),
                                     progress_.Momentum()});
}

bool SyncCore::PutOff(const Action& action, const PushPlan& plan) {
  if (plan.kind != PushPlan::Kind::kRound) return false;
  view_.mutable_rounds().Name(plan.round);
  if (view_.rounds().HasRoomFor(plan.round)) return false;
  put_off_.Add(action);
  return true;
}

void SyncCore::PerformPutOff(const Step& step) {
  while (const auto action = put_off_.TakeNext(view_.rounds())) {
    if (const auto* const release = std::get_if<Release>(&*action)) {
      StartIteration(step, *release);
    } else {
      IssuePlan(step, std::get<PlanPush>(*action));
    }
  }
}

void SyncCore::Close(const Step& step, absl::Span<const RoundId> rounds,
                     bool updates) {
  // Servers may have given that number to the round.
  if (closing_announced() &&
      std::ranges::find(rounds, announced_round_) == rounds.end()) {
    CloseAnnounced(step);
  }
  progress_.Close(rounds, view_.rounds().SamplesIn(rounds), updates,
                  step.outputs);
  for (const RoundId round : rounds) {
    view_.mutable_rounds().Drained(round, closing());
  }
}

void SyncCore::CloseAnnounced(const Step& step) {
  // Each push that is under way has a closing of its own, which counts it.
  Close(step, {announced_round_}, view_.rounds().MayHold(announced_round_));
}

void SyncCore::AnnounceClosing(const Step& step) {
  const std::optional<RoundId> round = policy_->ClosesNext();
  if (!round || *round == announced_round_) return;
  // What lost workers leave behind is closed by itself, and may be next.
  if (!fences_.empty() || !put_off_.empty()) return;
  const RoundLedger& rounds = view_.rounds();
  const int64_t open = rounds.PlansOf(*round);
  if (open == 0 || !rounds.HoldsAll(*round)) return;
  // It changes until then.
  if (progress_.Momentum().has_value()) return;
  // So may be a push that another policy has planned.
  const std::optional<int64_t> samples = members_.SamplesOfTerm(term_);
  if (!samples) return;
  progress_.Announce(*round, rounds.PushesIn(*round) + open,
                     rounds.SamplesIn({*round}), *samples, step.outputs);
  announced_round_ = *round;
  announced_ = closing() + 1;
}

bool SyncCore::ResumeIdle() {
  if (!members_.any_idle()) return false;
  for (const WorkerId worker : members_.Resume(progress_.dealer())) {
    events_.push_back(Resumed{worker});
  }
  return !events_.empty();
}

void SyncCore::FinishIfDone(const Step& step) {
  // The range of an open grant is outstanding: then the dealer is not done.
  if (finished_ || !dealer().done() || !fences_.empty()) return;
  // A policy closes the rounds that it opens. Should one have been forgotten,
  // a push that was counted would be lost.
  const std::vector<RoundId> undrained = view_.rounds().Undrained();
  if (!undrained.empty()) Close(step, undrained);
  progress_.TakeLastSnapshot(step.outputs);
  finished_ = true;
  step.outputs.push_back(Finished{});
}

// Pushes and losses.

PushDone SyncCore::CountPush(const Step& step, WorkerId worker, Member& member,
                             const PushReport& report) {
  const OpenGrant& grant = member.grant;
  // Without samples there was nothing to push.
  const bool pushed = !report.discarded && report.samples > 0;
  const bool updates = pushed && IsImmediate(grant);
  const bool not_finite = LossWasNotFinite(report, grant);
  PushCounted counted{.worker = worker,
                      .gap = view_.clocks().GapAfterAdvance(worker),
                      .staleness = grant.StalenessAt(version()),
                      .samples = report.samples};
  member.computing = false;
  put_off_.Cancel(worker);
  // What fills a wait does not say how long iterations take.
  member.fills_wait ? leases_.GrantDropped(step.now, worker)
                    : leases_.GrantClosed(step.now, worker);
  if (not_finite) {
    counted.samples = Doubt(worker, grant);
  } else {
    UseUp(grant, counted.samples, report.discarded);
  }
  if (report.discarded) counted.discarded = counted.samples;
  if (pushed) progress_.CountStaleness(counted.staleness);
  if (IsRound(grant)) {
    RoundLedger& rounds = view_.mutable_rounds();
    if (pushed) {
      rounds.Pushed(grant.plan.round, FrontOf(grant.ranges, counted.samples));
    } else {
      rounds.Ended(grant.plan.round);
    }
  }
  if (updates) progress_.CountUpdate();
  counted.version = version();
  step.outputs.push_back(counted);
  if (not_finite) {
    step.Record({DecisionKind::kPushDiscarded, worker, report.iteration,
                 counted.samples});
  }
  if (report.blocks_refused > 0) {
    step.Record({DecisionKind::kBlocksRefused, worker, report.iteration,
                 report.blocks_refused, report.blocks});
  }
  if (updates) progress_.SnapshotIfDue(step.outputs);
  // Nobody else would close a round of an earlier term.
  if (IsRound(grant) && pushed &&
      view_.rounds().OfEarlierTerm(grant.plan.round)) {
    Close(step, {grant.plan.round});
  }
  EndOldPlan(step, worker);
  // What was computed, even in vain, is a measure; what broke off is none.
  const bool measured = counted.samples > 0 && !not_finite;
  // In a short range the fixed costs make the most.
  if (measured && !member.fills_wait && grant.samples() >= member.usual) {
    MeasurePace(step, worker,
                std::max(step.now - member.granted, report.worked),
                counted.samples);
  }
  return {worker, measured ? ShareOf(member, counted.samples) : 0, pushed,
          pushed ? report.loss : std::nullopt};
}

uint32_t SyncCore::Doubt(WorkerId worker, const OpenGrant& grant) {
  uint32_t guilty = 0;
  for (const SampleRange& range : grant.ranges) {
    if (progress_.dealer().Doubt(range, worker)) guilty += range.size();
  }
  return guilty;
}

void SyncCore::UseUp(const OpenGrant& grant, uint32_t samples, bool discarded) {
  SampleDealer& dealer = progress_.dealer();
  const SampleRanges used = FrontOf(grant.ranges, samples);
  for (size_t i = 0; i < used.size(); ++i) {
    discarded ? dealer.Discard(grant.ranges[i], used[i].size())
              : dealer.Count(grant.ranges[i], used[i].size());
  }
}

void SyncCore::JudgeFinite(const Step& step, WorkerId worker,
                           const Member& member, const PushReport& report) {
  const bool finite =
      report.blocks_refused == 0 && !LossWasNotFinite(report, member.grant);
  switch (finite_.Pushed(step.now, member.granted, worker, finite)) {
    case FiniteWatch::Verdict::kNone:
      return;
    case FiniteWatch::Verdict::kWorker:
      return Remove(step, worker, LossReason::kNotFinite);
    case FiniteWatch::Verdict::kJob:
      if (std::exchange(diverged_, true)) return;
      step.outputs.push_back(
          Diverged{finite_.in_a_row(), finite_.in_window(), members_.size()});
  }
}

void SyncCore::MeasurePace(const Step& step, WorkerId worker,
                           absl::Duration busy, uint32_t samples) {
  balancer_.Pushed(worker, busy, samples);
  const StragglerDetector::Changes changes =
      stragglers_.Pushed(step.now, worker, busy, samples);
  if (changes.flag) {
    events_.push_back(Flagged{worker, stragglers_.IsFlagged(worker)});
  }
  if (!changes.straggler) return;
  step.Record({stragglers_.IsStraggler(worker) ? DecisionKind::kStraggler
                                               : DecisionKind::kNoStraggler,
               worker, static_cast<int64_t>(stragglers_.Score(worker) * 1000)});
}

void SyncCore::Remove(const Step& step, WorkerId worker, LossReason reason) {
  const Member member = members_.Leave(worker);
  // Nobody has computed anything of its lot, whatever servers answer.
  progress_.dealer().Leave(worker);
  put_off_.Cancel(worker);
  leases_.Leave(worker);
  finite_.Leave(worker);
  stragglers_.Leave(worker);
  balancer_.Leave(worker);
  std::optional<OpenGrant> open;
  if (member.computing) open = member.grant;
  if (open && IsRound(*open)) view_.mutable_rounds().Lost(open->plan.round);
  fences_.Open(worker, open, closing());
  events_.push_back(Left{worker});

  step.Record({DecisionKind::kLost, worker, static_cast<int64_t>(reason),
               open ? open->iteration : 0});
  step.outputs.push_back(Evicted{worker, reason});
  // Before any closing that the loss causes: what a frozen worker pushes later
  // must not slip in front of it. Also without an open grant, for its retries.
  step.outputs.push_back(FenceCommand{worker});
  EndOldPlan(step, worker);
}

void SyncCore::SettleLoss(const Step& step, WorkerId worker,
                          const FenceOutcome& loss) {
  SampleRanges counted;
  if (loss.whole()) {
    counted = FrontOf(loss.grant->ranges, CountLostPush(step, worker, loss));
  } else {
    // First: of many ranges people are told of the first few.
    if (loss.taken > 0) {
      step.Record({DecisionKind::kPartialPush, worker, loss.grant->iteration,
                   loss.taken, loss.blocks});
    }
    for (const SampleRange& range : loss.grant->ranges) {
      progress_.dealer().Return(range);
      if (dealer().sealed()) continue;
      step.Record({DecisionKind::kRangeReturned, worker, range.epoch,
                   range.begin, range.end});
    }
  }
  // Leftovers of a round never stay behind. While another member's plan for it
  // is open, or the policy has pushes in it, the policy closes it.
  if (IsRound(*loss.grant)) {
    view_.mutable_rounds().Answered(loss.grant->plan.round, loss.fenced_at,
                                    loss.taken > 0, counted);
  }
}

uint32_t SyncCore::CountLostPush(const Step& step, WorkerId worker,
                                 const FenceOutcome& loss) {
  const uint32_t granted = loss.grant->samples();
  PushCounted counted{
      .worker = worker,
      .staleness = loss.grant->StalenessAt(version()),
      .samples = loss.samples == 0 ? granted : std::min(loss.samples, granted)};
  UseUp(*loss.grant, counted.samples, /*discarded=*/false);
  const bool updates = IsImmediate(*loss.grant);
  if (updates) progress_.CountUpdate();
  counted.version = version();
  step.outputs.push_back(counted);
  step.Record({DecisionKind::kLostPushTaken, worker, loss.grant->iteration});
  if (updates) progress_.SnapshotIfDue(step.outputs);
  return counted.samples;
}

}  // namespace paceline
