#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_CORE_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_CORE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/coordinator/policy/batch_balancer.h"
#include "services/coordinator/policy/clocks.h"
#include "services/coordinator/policy/fences.h"
#include "services/coordinator/policy/membership.h"
#include "services/coordinator/policy/rate_schedule.h"
#include "services/coordinator/policy/round_ledger.h"
#include "services/coordinator/policy/sample_dealer.h"
#include "services/coordinator/policy/straggler_detector.h"
#include "services/coordinator/policy/sync_messages.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// A paradigm that takes over once so many samples are counted.
struct ScheduledSwitch {
  int64_t samples = 0;
  std::string paradigm;  // As MakePolicy() parses it.
};

struct SyncOptions {
  uint32_t train_samples = 0;  // Per epoch; at least 1.
  uint32_t epochs = 1;         // At least 1.
  uint32_t batch_size = 32;    // Samples of a full grant, B; at least 1.
  int servers = 1;             // Parameter servers that answer fences.
  absl::Duration lease = absl::Seconds(10);
  RateSchedule schedule;
  // Samples between two snapshots for evaluation; 0 takes only the last one.
  int64_t eval_every = 0;
  Batching batching = Batching::kEven;
  // In the order of their samples.  REQUIRES: MakePolicy() takes them all.
  std::vector<ScheduledSwitch> switches = {};
  // Samples to count, over the epochs' if there are more; 0: the epochs'.
  int64_t max_samples = 0;
  // Where the job goes on: updates and samples counted so far.
  // REQUIRES: CheckPosition() is OK of the samples.
  Version start_version = 0;
  SamplePosition start = {};
};

// Where a job can be taken up again from what its servers hold at a snapshot.
struct ResumePoint {
  int64_t snapshot = 0;
  Version version = 0;
  // Counted and in the weights. A push that is under way, or lies in a round
  // that is not closed, is not: it is repeated, one per worker and whatever
  // immediate pushes reach a server before it takes the snapshot.
  int64_t samples = 0;
  SamplePosition position;
  bool exact = false;  // Nothing was under way.
};

// One job's synchronization, whole: members with leases, the dealing of
// samples, versions and closings, the learning rate, snapshots, losses and
// fences, around the policy that decides who may go on. It does nothing but
// append to `outputs`; two drivers perform them, the coordinator's Engine and
// the simulator, and neither contains a rule.
//
// Pure and deterministic, as SyncPolicy is. `now` never decreases.
// Thread-compatible.
class SyncCore {
 public:
  SyncCore(const SyncOptions& options, std::unique_ptr<SyncPolicy> policy);

  // Begins with `workers`, sorted by id and not empty. Called once, first.
  void Start(absl::Time now, absl::Span<const WorkerId> workers,
             std::vector<Output>& outputs);

  // A worker that came later. Its id is new.
  void Join(absl::Time now, WorkerId worker, std::vector<Output>& outputs);

  // Any sign of life renews the lease. Unknown workers are ignored.
  void Heard(absl::Time now, WorkerId worker);

  // The worker has pushed its open iteration. NOT_FOUND if it is no member
  // (any more), FAILED_PRECONDITION if that iteration is not the open one
  // (a repeated report, say), INVALID_ARGUMENT for more samples than granted;
  // nothing changes then.
  absl::Status PushDone(absl::Time now, WorkerId worker,
                        const PushReport& report, std::vector<Output>& outputs);

  // The gradient of the open iteration, granted with the plan "ask", is ready.
  // The errors of PushDone; FAILED_PRECONDITION too if it has a plan already.
  absl::Status GradientReady(absl::Time now, WorkerId worker,
                             Iteration iteration, std::vector<Output>& outputs);

  // The worker has dropped its open iteration, as it was told. The errors of
  // PushDone; FAILED_PRECONDITION too if it was not told so.
  absl::Status Abandoned(absl::Time now, WorkerId worker, Iteration iteration,
                         std::vector<Output>& outputs);

  // Another policy, not null, takes over at once; `reason` is for people. Plans
  // in flight stay as they were issued; what rounds hold is drained, now and as
  // the last pushes of them arrive; all clocks are set equal.
  void Switch(absl::Time now, std::unique_ptr<SyncPolicy> policy,
              absl::string_view reason, std::vector<Output>& outputs);

  // The member is gone. Unknown workers are ignored.
  void Leave(absl::Time now, WorkerId worker, LossReason reason,
             std::vector<Output>& outputs);

  // When all servers have answered, a push that every block took counts as
  // done; otherwise its range is dealt again.
  void FenceAnswered(absl::Time now, WorkerId worker, const FenceAnswer& answer,
                     std::vector<Output>& outputs);

  // Deals nothing more: what is in flight is counted, then the job finishes.
  void Seal(absl::Time now, std::vector<Output>& outputs);

  // From now on the rate follows another schedule, the job has another number
  // of samples (as SyncOptions::max_samples; at least 1), batches are another.
  void SetSchedule(const RateSchedule& schedule) { schedule_ = schedule; }
  void SetMaxSamples(absl::Time now, int64_t samples,
                     std::vector<Output>& outputs);
  void SetBatching(Batching batching) { balancer_.SetBatching(batching); }

  // The number of a new snapshot and what belongs to it, provided that the
  // servers take it between the closings that were issued and those to come.
  ResumePoint TakeResumePoint();

  // To be called when NextDeadline() is reached: leases, stuck workers, policy.
  void Tick(absl::Time now, std::vector<Output>& outputs);
  absl::Time NextDeadline() const;

  Version version() const { return version_; }
  Closing closing() const { return closing_; }
  int64_t samples_counted() const { return dealer_.samples_counted(); }
  // What there is to count in all.
  int64_t samples_total() const { return dealer_.samples_total(); }
  bool finished() const { return finished_; }
  // For the per-worker view; members only, sorted.
  std::vector<WorkerId> Members() const;
  WorkerClock ClockOf(WorkerId worker) const { return clocks_.Of(worker); }
  const SyncPolicy& policy() const { return *policy_; }
  // StragglerDetector::Score; members only.
  double ScoreOf(WorkerId worker) const { return stragglers_.Score(worker); }
  bool IsStraggler(WorkerId worker) const {
    return stragglers_.IsStraggler(worker);
  }
  // Samples that it gets where there are enough; members only.
  uint32_t BatchOf(WorkerId worker) const { return members_.at(worker).usual; }
  // Updates counted since the grant that it computes under; nothing while it
  // does not. Members only.
  std::optional<int64_t> LagOf(WorkerId worker) const;

 private:
  using Phase = AdoptedWorker::Phase;

  struct Member {
    Phase phase = Phase::kWaiting;
    bool resumed = false;  // Waits for the range for which it was resumed.
    OpenGrant grant;       // The open one while computing, else the last.
    absl::Time granted;
    int64_t reign = 0;      // The policy that released it, by `reign_`.
    bool asks = false;      // Waits for the plan of its push.
    bool abandons = false;  // Was told to drop the iteration.
    uint32_t usual = 1;     // Samples that it gets where there are enough.
  };

  // One call from outside: its time, and where its consequences go.
  struct Step {
    absl::Time now;
    std::vector<Output>& outputs;
  };

  // Applies the queued policy events and performs what follows, until nothing
  // does; then finishes the job if it is complete.
  void Settle(const Step& step);
  void ApplyToPolicy(const Step& step, const Event& event);
  void Perform(const Step& step, const Action& action);

  Moment At(const Step& step) const;
  // The reign of one policy ends, that of the next begins.
  void HandOver(const Step& step);
  // One plan less that was issued before the latest switch.
  void EndOldPlan(const Step& step, WorkerId worker);

  // Makes a newcomer's clock that of the round into which it is released.
  void Level(WorkerId worker, const PushPlan& plan);
  // Deals a range to the worker, who becomes idle if there is none.
  void ReleaseWorker(const Step& step, const Release& release);
  uint32_t MicroBatchOf(const Release& release) const;
  void PlanOf(const Step& step, WorkerId worker, const PushPlan& plan);
  void Tell(const Step& step, const Refresh& refresh);
  void Tell(const Step& step, const Abandon& abandon);
  void Issue(const PushPlan& plan);
  double RateOf(const PushPlan& plan) const;
  void Close(const Step& step, absl::Span<const RoundId> rounds);
  // Queues Resumed for the idle workers with the lowest ids, one for each range
  // for which nobody was resumed yet. False if there is no such.
  bool ResumeIdle();
  void FinishIfDone(const Step& step);
  void SwitchTo(const Step& step, std::unique_ptr<SyncPolicy> policy,
                absl::string_view reason);
  // True if a planned switch was due.
  bool SwitchIfDue(const Step& step);

  void Admit(absl::Time now, WorkerId worker);
  absl::Status Validate(WorkerId worker, Iteration iteration) const;
  absl::Status Validate(WorkerId worker, const PushReport& report) const;
  // Counted towards its round: in the weights once that is closed.
  void Gather(const OpenGrant& grant, uint32_t samples);
  void MeasurePace(const Step& step, WorkerId worker, absl::Duration busy,
                   uint32_t samples);
  // The event that tells the policy.
  paceline::PushDone CountPush(const Step& step, WorkerId worker,
                               Member& member, const PushReport& report);
  // Takes the member out of everything; its open range waits for the fence.
  void Remove(const Step& step, WorkerId worker, LossReason reason);
  void SettleLoss(const Step& step, WorkerId worker, const FenceOutcome& loss);
  // Returns the samples counted.
  uint32_t CountLostPush(const Step& step, WorkerId worker,
                         const FenceOutcome& loss);
  void ReturnLostRange(const Step& step, WorkerId worker,
                       const FenceOutcome& loss);

  void SnapshotIfDue(const Step& step);
  void SetNextSnapshot();
  void Snapshot(const Step& step, bool last);
  static void Record(const Step& step, const Decision& decision);

  const SyncOptions options_;
  RateSchedule schedule_;
  std::unique_ptr<SyncPolicy> policy_;
  SampleDealer dealer_;
  Membership membership_;
  Clocks clocks_;
  RoundLedger rounds_;
  // What was counted towards rounds that are not closed.
  std::map<RoundId, std::vector<SampleRange>> gathered_;
  Fences fences_;
  StragglerDetector stragglers_;
  BatchBalancer balancer_;
  std::map<WorkerId, Member> members_;
  absl::btree_set<WorkerId> idle_;
  // Wait since they joined or were resumed, and count in `clocks_` meanwhile.
  absl::btree_set<WorkerId> fresh_;
  int64_t resumed_ = 0;  // Members that are `resumed`.

  int64_t reign_ = 0;       // Counts the takings-over.
  RoundId next_round_{1};   // No plan has named it or one above.
  RoundId first_round_{1};  // Of the present reign; those below are old.
  absl::Time switched_at_;
  absl::btree_set<WorkerId> old_plans_;  // Compute since before it.
  size_t switches_done_ = 0;             // Of the planned ones.

  Version version_ = 0;
  Closing closing_ = 0;
  int64_t snapshots_ = 0;
  int64_t next_snapshot_at_ = 0;  // Samples counted.
  bool finished_ = false;

  std::deque<Event> events_;     // For the policy; empty between calls.
  std::vector<Action> actions_;  // Its latest answer.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_CORE_H_
