#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_CORE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_CORE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/micro_batches.h"
#include "services/coordinator/sync/core/batch_balancer.h"
#include "services/coordinator/sync/core/fences.h"
#include "services/coordinator/sync/core/finite_watch.h"
#include "services/coordinator/sync/core/job_progress.h"
#include "services/coordinator/sync/core/member_table.h"
#include "services/coordinator/sync/core/membership.h"
#include "services/coordinator/sync/core/put_off_actions.h"
#include "services/coordinator/sync/core/straggler_detector.h"
#include "services/coordinator/sync/core/sync_messages.h"
#include "services/coordinator/sync/core/sync_options.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "services/coordinator/sync/core/sync_view.h"

namespace paceline {

// A worker that is to become a member.
struct NewMember {
  WorkerId worker;
  SampleWishes wishes = {};
};

// One job's synchronization, whole: members with leases, the dealing of
// samples, versions and closings, the learning rate, snapshots, losses and
// fences, around the policy that decides who may go on. It does nothing but
// append to `outputs`; its drivers perform them, and contain no rule.
//
// Pure and deterministic, as SyncPolicy is. `now` never decreases.
// Thread-compatible.
class SyncCore {
 public:
  SyncCore(const SyncOptions& options, std::unique_ptr<SyncPolicy> policy);

  // Begins with `workers`, sorted by id and not empty. Called once, first.
  void Start(absl::Time now, absl::Span<const NewMember> workers,
             std::vector<Output>& outputs);

  // Called right after Start() or Join(): the worker was last heard at `heard`,
  // before.
  void SilentSince(absl::Time heard, WorkerId worker);

  // Takes in a worker that came later. Its id is new.
  void Join(absl::Time now, const NewMember& worker,
            std::vector<Output>& outputs);

  // Any sign of life renews the lease. One that waits for parameter servers is
  // not stuck itself. Unknown workers are ignored.
  void Heard(absl::Time now, WorkerId worker, bool waits_for_servers = false);

  // A worker that could not be heard for a while is expected until then: its
  // lease, and what its iteration may take, begin anew there. Unknown workers
  // are ignored.
  void AwaitAnew(absl::Time until, WorkerId worker);

  // The worker has pushed its open iteration. The errors are those of
  // MemberTable::FindReporting(); nothing changes then. It may be evicted for
  // it (FiniteWatch).
  absl::Status PushDone(absl::Time now, WorkerId worker,
                        const PushReport& report, std::vector<Output>& outputs);

  // The gradient of the open iteration, granted with the plan "ask", is ready.
  // FAILED_PRECONDITION too if it has a plan already.
  absl::Status GradientReady(absl::Time now, WorkerId worker,
                             Iteration iteration, std::vector<Output>& outputs);

  // The worker has dropped its open iteration, as it was told to.
  // FAILED_PRECONDITION too if it was not.
  absl::Status Abandoned(absl::Time now, WorkerId worker, Iteration iteration,
                         std::vector<Output>& outputs);

  struct PolicySwitch {
    std::unique_ptr<SyncPolicy> policy;  // Not null.
    std::string reason;                  // For people.
    // How batches are divided from then on; nothing: as before.
    std::optional<Batching> batching = std::nullopt;
    // It waits for the next closing of the present policy, if that gathers all
    // (PolicyView). Little has to be drained then. A push that is drained is an
    // update of its own, and moves the weights along the momentum as far as a
    // whole round does. The latest switch takes the place of one that waits.
    bool with_closing = false;
  };
  // Another policy takes over. Plans in flight stay as they were issued; what
  // rounds hold is drained, now and as the last pushes of them arrive; all
  // clocks are set equal.
  void Switch(absl::Time now, PolicySwitch to, std::vector<Output>& outputs);
  // Takes a switch that waits back.
  void StopSwitching() { next_.reset(); }

  // The member is gone. Unknown workers are ignored.
  void Leave(absl::Time now, WorkerId worker, LossReason reason,
             std::vector<Output>& outputs);

  // When all servers have answered, a push that every block took counts as
  // done; otherwise its range is dealt again.
  void FenceAnswered(absl::Time now, WorkerId worker, const FenceAnswer& answer,
                     std::vector<Output>& outputs);

  // Server `server`, from 0, has performed all closings up to this one.
  // REQUIRES: SyncOptions::closings_acknowledged.
  void ClosingPerformed(absl::Time now, int server, Closing closing,
                        std::vector<Output>& outputs);

  // Deals nothing more: what is in flight is counted, then the job finishes.
  void Seal(absl::Time now, std::vector<Output>& outputs);
  // Takes that back, also if the job has finished since. `gone` are members
  // that left when it had, which nobody has told it of; `max_samples` is the
  // limit from now on, for one that has finished takes no other.
  void Unseal(absl::Time now, absl::Span<const WorkerId> gone,
              int64_t max_samples, std::vector<Output>& outputs);

  // These replace the schedule of the rate, the number of the job's samples (as
  // SyncOptions::max_samples; at least 1) and how batches are divided. What is
  // reserved was divided as before: it is withdrawn if that changes.
  void SetSchedule(const RateSchedule& to) { progress_.SetSchedule(to); }
  void SetMaxSamples(absl::Time now, int64_t samples,
                     std::vector<Output>& outputs);
  void SetBatching(absl::Time now, Batching to, std::vector<Output>& outputs);

  // How much larger than its gradient the noise of one batch is, as
  // AdaScaleGain() has it. Of use with SyncOptions::ada_scale alone.
  void SetNoise(double noise) { progress_.SetNoise(noise); }

  // Whether the servers have been told of a closing that is still to come, and
  // may have made a part of it.
  bool closing_announced() const {
    return announced_ > closing() && view_.rounds().InUse(announced_round_);
  }

  // The number of a new snapshot and what belongs to it, provided that the
  // servers take it between the closings that were issued and those to come,
  // and before the one that was announced last.
  ResumePoint TakeResumePoint() {
    return progress_.TakeResumePoint(view_.rounds());
  }

  // The driver calls this when NextDeadline() is reached, which is a deadline
  // of a lease, of a worker that may be stuck, or of the policy.
  void Tick(absl::Time now, std::vector<Output>& outputs);
  absl::Time NextDeadline() const {
    if (finished_) return absl::InfiniteFuture();
    return std::min(leases_.NextDeadline(), policy_->NextDeadline());
  }

  Version version() const { return progress_.version(); }
  Closing closing() const { return progress_.closing(); }
  int64_t samples_counted() const { return dealer().samples_counted(); }
  int64_t samples_discarded() const { return dealer().samples_discarded(); }
  int64_t samples_total() const { return dealer().samples_total(); }
  bool sealed() const { return dealer().sealed(); }
  bool finished() const { return finished_; }
  size_t member_count() const { return members_.size(); }
  const SyncPolicy& policy() const { return *policy_; }
  // Whether one waits for a closing to take over.
  bool switching() const { return next_.has_value(); }
  // That is in charge, or takes over with the next closing.
  const SyncPolicy& next_policy() const {
    return next_.has_value() ? *next_->policy : *policy_;
  }

  // The members, by id. What follows REQUIRES that the worker is a member.
  std::vector<WorkerId> Members() const { return members_.Ids(); }
  bool IsMember(WorkerId worker) const { return members_.Contains(worker); }
  WorkerClock ClockOf(WorkerId w) const { return view_.clocks().Of(w); }
  double ScoreOf(WorkerId w) const { return stragglers_.Score(w); }
  bool IsStraggler(WorkerId w) const { return stragglers_.IsStraggler(w); }
  // The number of samples that it gets where there are enough.
  uint32_t BatchOf(WorkerId w) const { return members_.Of(w).usual; }
  // How many are reserved for it.
  int64_t ReservedFor(WorkerId w) const { return dealer().ReservedFor(w); }
  // The updates counted since the grant that it computes under; nothing if it
  // does not compute.
  std::optional<int64_t> LagOf(WorkerId worker) const {
    const Member& member = members_.Of(worker);
    if (!member.computing) return std::nullopt;
    return version() - member.grant.base_version;
  }

 private:
  using Member = MemberTable::Member;
  // Whoever was to push into that round is lost, and may have left a part.
  bool announced_to_nobody() const {
    return closing_announced() &&
           view_.rounds().PlansOf(announced_round_) == 0 &&
           view_.rounds().MayHold(announced_round_);
  }
  struct Step;  // One call from outside.

  void Admit(absl::Time now, const NewMember& worker);
  // Applies the queued events to the policy and performs what follows, until
  // nothing does; then finishes the job if it is complete.
  void Settle(const Step& step);
  void ApplyToPolicy(const Step& step, const Event& event);
  void LetPolicyTakeOver(const Step& step);
  void PerformActions(const Step& step);
  void Perform(const Step& step, const Action& action);
  void SwitchTo(const Step& step, PolicySwitch to);
  bool SwitchIfDue(const Step& step);
  // The term of one policy ends, that of the next begins.
  void BeginTerm(const Step& step);
  // A plan that was issued before the latest switch is no longer open.
  void EndOldPlan(const Step& step, WorkerId worker);

  // Deals a range to the released worker, who becomes idle if there is none.
  void StartIteration(const Step& step, const Release& release);
  // In which the worker computes.
  uint32_t PieceOf(const Member& member) const {
    return MicroBatchLimit(options_.batch_size, options_.micro_batch,
                           member.wishes.micro_batch);
  }
  uint32_t SizeFor(const Release& release, const Member& member) {
    return WholePieces(release.samples > 0 ? release.samples
                                           : balancer_.SizeFor(release.worker),
                       member);
  }
  // About so many samples, as the member likes them.
  uint32_t WholePieces(uint32_t size, const Member& member) const;
  // `at_most`: not many more than `size`, at the price of what was reserved.
  std::optional<SampleRange> NextRange(const Step& step, WorkerId worker,
                                       const Member& member, uint32_t size,
                                       bool at_most);
  // More samples for who asks, or the plan if there are none.
  void ExtendIteration(const Step& step, const Extend& extend);
  std::vector<SampleRange> ReserveFor(WorkerId worker, const Member& member);
  void TellWithdrawn(const Step& step);
  void IssuePlan(const Step& step, const PlanPush& planned);
  // Puts off what would begin a round beyond kMaxOpenRounds.
  bool PutOff(const Action& action, const PushPlan& plan);
  void PerformPutOff(const Step& step);
  void Close(const Step& step, absl::Span<const RoundId> rounds,
             bool updates = true);
  // Before what has been announced can come: another closing, or a grant.
  void CloseAnnounced(const Step& step);
  // Tells the servers what the policy closes next, once for each round, as soon
  // as nothing else can be closed before it.
  void AnnounceClosing(const Step& step);
  bool ResumeIdle();
  void FinishIfDone(const Step& step);

  paceline::PushDone CountPush(const Step& step, WorkerId worker,
                               Member& member, const PushReport& report);
  // What the worker made of them was not finite: how many are to blame.
  uint32_t Doubt(WorkerId worker, const OpenGrant& grant);
  // The first so many samples of the grant are counted, the others returned.
  void UseUp(const OpenGrant& grant, uint32_t samples, bool discarded);
  // Evicts the worker, or gives up the job, if pushes are not finite.
  void JudgeFinite(const Step& step, WorkerId worker, const Member& member,
                   const PushReport& report);
  void MeasurePace(const Step& step, WorkerId worker, absl::Duration busy,
                   uint32_t samples);
  void Remove(const Step& step, WorkerId worker, LossReason reason);
  void SettleLoss(const Step& step, WorkerId worker, const FenceOutcome& loss);
  uint32_t CountLostPush(const Step& step, WorkerId worker,
                         const FenceOutcome& loss);

  const SampleDealer& dealer() const { return progress_.dealer(); }

  const SyncOptions options_;
  std::unique_ptr<SyncPolicy> policy_;
  SyncView view_;
  JobProgress progress_;
  MemberTable members_;
  Membership leases_;
  Fences fences_;
  FiniteWatch finite_;
  StragglerDetector stragglers_;
  BatchBalancer balancer_;

  std::optional<PolicySwitch> next_;  // That waits for a closing.
  int64_t term_ = 0;                  // Counts how often a policy took over.
  absl::Time switched_at_;
  absl::btree_set<WorkerId> old_plans_;  // Workers that compute since before.
  size_t switches_done_ = 0;  // How many of the planned switches were done.
  bool diverged_ = false;
  bool finished_ = false;

  std::deque<Event> events_;     // The policy gets them; empty between calls.
  std::vector<Action> actions_;  // The policy's latest answer.
  PutOffActions put_off_;        // What awaits a free round.

  RoundId announced_round_{0};  // The last of which servers were told
  Closing announced_ = 0;       // that this closing will be its.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_CORE_H_
