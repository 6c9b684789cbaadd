// What each input does to the course of a run, before the stages go on.

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/coordinator/run/course/course.h"
#include "services/coordinator/run/course/time_limits.h"

namespace paceline {
namespace {

absl::Status NotBegun() {
  return absl::InvalidArgumentError("the training has not begun");
}

absl::Status DoesNotTrain() {
  return absl::FailedPreconditionError("the job does not train right now");
}

// What an input comes to once the run has ended.
absl::Status AfterTheEnd(const RunInput& input) {
  if (std::holds_alternative<MemberCame>(input) ||
      std::holds_alternative<ResumeRun>(input)) {
    return absl::FailedPreconditionError("the job has ended");
  }
  if (std::holds_alternative<SwitchRun>(input)) {
    return absl::FailedPreconditionError("the job has finished");
  }
  if (std::holds_alternative<WriteCheckpoint>(input)) return DoesNotTrain();
  return absl::OkStatus();
}

}  // namespace

template <>
absl::Status RunCourse::On(const Turn& turn, const FilesOpened& in) {
  if (stage_ != RunStage::kOpening) return absl::OkStatus();
  start_ = in.start;
  failure_.Update(in.status);
  outcome_.unrestored = options_.restored && !in.status.ok();
  next_look_ = turn.now;
  Await(turn.now, RunStage::kAssembling, kLoadingTimeout,
        "the job's workers to be ready");
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const MemberCame& in) {
  RunMember member;
  member.name = in.name;
  member.incarnation = in.incarnation;
  member.evaluator = in.evaluator;
  member.last_heard = turn.now;
  members_.Add(in.worker, std::move(member));
  turn.outputs.push_back(AssignMember{in.worker});
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const MemberHeard& in) {
  members_.Heard(in.worker, turn.now);
  if (core_ != nullptr) {
    core_->Heard(turn.now, in.worker, in.waits_for_servers);
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const MemberReady& in) {
  members_.Heard(in.worker, turn.now);
  const absl::Status fits = MemberFits(turn, in);
  if (absl::IsFailedPrecondition(fits)) TellUnfit(turn, in.worker, fits);
  return fits;
}

absl::Status RunCourse::MemberFits(const Turn& turn, const MemberReady& ready) {
  RunMember* const member = members_.Find(ready.worker);
  if (member == nullptr) return absl::NotFoundError("it is no member any more");
  if (stage_ > RunStage::kAssembling) {
    // Before it counts as ready: nobody else must make it begin.
    PACELINE_RETURN_IF_ERROR(
        CheckAgreement(model_, model_of_, ready.model, member->trainer()));
  }
  if (member->state != RunMember::State::kLoading) {
    return absl::FailedPreconditionError("the member has said `ready` before");
  }
  member->state = RunMember::State::kReady;
  member->wishes = ready.wishes;
  // What ailed it is mended.
  troubles_.Ready(member->name);
  if (stage_ <= RunStage::kAssembling) member->model = ready.model;
  if (core_ == nullptr) return absl::OkStatus();
  Begin(turn, ready.worker, /*initialize=*/false);
  if (member->evaluator) {
    ChooseEvaluator(turn);
    return absl::OkStatus();
  }
  turn.outputs.push_back(WorkerJoined{ready.worker});
  core_->Join(turn.now, {ready.worker, ready.wishes}, core_outputs_);
  Absorb(turn);
  return absl::OkStatus();
}

void RunCourse::Begin(const Turn& turn, WorkerId worker, bool initialize) {
  members_.Find(worker)->state = RunMember::State::kWorking;
  turn.outputs.push_back(BeginWork{worker, initialize});
}

template <>
absl::Status RunCourse::On(const Turn& turn, const WeightsInitialized& in) {
  members_.Heard(in.worker, turn.now);
  if (RunMember* const member = members_.Find(in.worker)) {
    member->initialized = true;
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const WorkerPushed& in) {
  if (core_ == nullptr) return NotBegun();
  core_->Heard(turn.now, in.worker);
  const absl::Status status =
      core_->PushDone(turn.now, in.worker, in.report, core_outputs_);
  if (status.ok()) noise_.Pushed(in.worker, in.report);
  Absorb(turn);
  if (status.ok() && in.report.loss.has_value()) {
    losses_.Pushed(*in.report.loss);
  }
  if (status.ok() && std::exchange(restarted_, false)) TellWarning(turn);
  if (!status.ok() || members_.Find(in.worker) != nullptr) return status;
  return absl::OutOfRangeError(
      "its pushes are not finite, those of others are: look at its device and "
      "its data");
}

template <>
absl::Status RunCourse::On(const Turn& turn, const WorkerAsks& in) {
  if (core_ == nullptr) return NotBegun();
  core_->Heard(turn.now, in.worker);
  const absl::Status status =
      core_->GradientReady(turn.now, in.worker, in.iteration, core_outputs_);
  Absorb(turn);
  return status;
}

template <>
absl::Status RunCourse::On(const Turn& turn, const WorkerAbandoned& in) {
  if (core_ == nullptr) return NotBegun();
  core_->Heard(turn.now, in.worker);
  const absl::Status status =
      core_->Abandoned(turn.now, in.worker, in.iteration, core_outputs_);
  Absorb(turn);
  return status;
}

template <>
absl::Status RunCourse::On(const Turn& turn, const MemberEvaluated& in) {
  members_.Heard(in.worker, turn.now);
  if (!in.status.ok()) {
    // Not checked against the task in hand: that may have been dropped just
    // now, for the same reason.
    DropEvaluation(turn, in.snapshot, members_.NameOf(in.worker), in.status);
    return absl::OkStatus();
  }
  PACELINE_ASSIGN_OR_RETURN(
      const AccuracyPoint point,
      evaluations_.Done(turn.now, in.worker, in.snapshot, in.accuracy, in.loss,
                        in.metrics));
  end_.target_reached = ReachedTarget(settings_.stop, evaluations_.accuracy());
  turn.outputs.push_back(
      NumberedCommand{commands_.Next(turn.now), ReleaseSnapshot{in.snapshot}});
  turn.outputs.push_back(SnapshotEvaluated{point});
  GiveOutEvaluation(turn);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const MemberGone& in) {
  const RunMember* const member = members_.Find(in.worker);
  if (member == nullptr) return absl::OkStatus();
  const std::string name = member->name;
  const bool trained = core_ != nullptr && member->trainer() &&
                       member->state == RunMember::State::kWorking;
  const bool failed = in.reason == LossReason::kFailed;
  if (member->trainer() && !in.why.ok()) {
    troubles_.Goes(name, in.why);
  }
  if (failed && !in.why.ok()) TellUnfit(turn, in.worker, in.why);
  if (!failed && !in.why.ok()) {
    turn.outputs.push_back(Notice{
        name, "worker-lost", absl::StrCat("gives up: ", in.why.ToString())});
  }
  Lose(turn, in.worker, in.reason);
  if (failed && trained) troubles_.Failed(name, in.why);
  return absl::OkStatus();
}

void RunCourse::AwaitAnew(const Turn& turn, WorkerId worker) {
  const absl::Duration more =
      std::max(absl::ZeroDuration(), kRedialTime - options_.lease);
  members_.Heard(worker, turn.now + more);
  if (core_ != nullptr) core_->AwaitAnew(turn.now + more, worker);
}

void RunCourse::Lose(const Turn& turn, WorkerId worker, LossReason reason) {
  const RunMember member = *members_.Find(worker);
  if (core_ != nullptr && member.trainer()) {
    if (member.state == RunMember::State::kWorking) troubles_.Lost();
    core_->Leave(turn.now, worker, reason, core_outputs_);
    Absorb(turn);  // The eviction lets it go.
    if (members_.Find(worker) == nullptr) return;
  }
  LetGo(turn, worker,
        reason == LossReason::kLeaseEnded
            ? absl::AbortedError("the lease ended: register anew")
            : absl::OkStatus());
  // Should the training go on, a core that has finished without hearing of the
  // loss has the worker fenced.
  if (core_ == nullptr || !core_->IsMember(worker)) {
    to_forget_.push_back(worker);
  }
  if (!member.evaluator) return;
  const std::optional<int64_t> dropped = evaluations_.EvaluatorLeft(
      worker, /*lost=*/reason != LossReason::kDeparted);
  if (dropped.has_value()) {
    DropEvaluation(turn, *dropped, member.name,
                   absl::AbortedError("no evaluator survives it"));
  }
  ChooseEvaluator(turn);
}

void RunCourse::LetGo(const Turn& turn, WorkerId worker,
                      const absl::Status& status) {
  if (members_.Find(worker) == nullptr) return;
  members_.Remove(worker);
  turn.outputs.push_back(MemberLetGo{worker, status});
  sources_.copies().Gone(worker);
  noise_.Left(worker);
  LoseFiller(turn, worker);
}

void RunCourse::TellUnfit(const Turn& turn, WorkerId worker,
                          const absl::Status& why) {
  const RunMember* const member = members_.Find(worker);
  if (member == nullptr) return;
  turn.outputs.push_back(
      Notice{member->name, "worker-lost",
             absl::StrCat("cannot take part: ", why.ToString())});
  if (!member->trainer()) return;
  troubles_.Unfit(member->name, why);
  if (core_ != nullptr) return;
  // Who waits for the job to begin looks at its state.
  turn.outputs.push_back(
      Warning{absl::StrCat("cannot take part: ", troubles_.unfit().message())});
}

template <>
absl::Status RunCourse::On(const Turn& turn, const CommandDone& in) {
  commands_.Done(turn.now, in.shard, in.sequence);
  if (core_ == nullptr) return absl::OkStatus();
  checkpoints_.CommandDone(in.sequence, core_->version());
  const Closing closing = commands_.ClosingUpTo(in.sequence);
  if (in.gradient.has_value()) {
    noise_.Answered(shards_.shards().size(), in.shard, closing, *in.gradient);
    if (const std::optional<double> noise = noise_of_batch()) {
      core_->SetNoise(*noise);
    }
  }
  if (closing > 0) {
    core_->ClosingPerformed(turn.now, in.shard, closing, core_outputs_);
    Absorb(turn);
  }
  const std::optional<WorkerId> fenced = commands_.FenceOf(in.sequence);
  if (fenced.has_value() && in.fence.has_value()) {
    core_->FenceAnswered(turn.now, *fenced, *in.fence, core_outputs_);
    Absorb(turn);
    // Nobody speaks of it any more once all have answered.
    if (commands_.AllDone(in.sequence)) to_forget_.push_back(*fenced);
  }
  const std::optional<int64_t> snapshot = commands_.SnapshotOf(in.sequence);
  if (!snapshot.has_value()) return absl::OkStatus();
  if (!in.status.ok()) {
    DropEvaluation(turn, *snapshot, shards_.PrimaryOf(in.shard), in.status);
  } else if (commands_.AllDone(in.sequence)) {
    evaluations_.Completed(*snapshot, core_->version());
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ServerWrote& in) {
  checkpoints_.Written(MomentOf(turn), in, stage_ == RunStage::kSaving);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ManifestWritten& in) {
  checkpoints_.ManifestWritten(MomentOf(turn), in);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn&, const FilesRemoved& in) {
  checkpoints_.FilesRemoved(in);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ServerCame& in) {
  shards_.Came(turn.now, in.server, shard_actions_);
  PerformShardActions(turn);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ServerLeaves& in) {
  shards_.SetLeaving(turn.now, in.server, in.leaving, shard_actions_);
  PerformShardActions(turn);
  if (in.leaving) checkpoints_.Hurry(turn.now);  // Its grace is short.
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ServerLinkChanged& in) {
  shards_.LinkChanged(turn.now, in.server, in.link, in.connected,
                      shard_actions_);
  PerformShardActions(turn);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const CoordinatorRestarted& in) {
  turn.outputs.push_back(Notice{
      "job", "restart",
      "the coordinator has restarted, and goes on with the job where it was",
      /*costs_work=*/false});
  shards_.CoordinatorRestarted(turn.now, turn.now + options_.lease);
  // What servers have said of it meanwhile is lost.
  checkpoints_.Restarted(MomentOf(turn), stage_ == RunStage::kSaving);
  for (const WorkerId worker : members_.Present()) {
    if (members_.Find(worker) == nullptr) continue;
    if (in.awaited.contains(worker)) {
      AwaitAnew(turn, worker);
    } else {
      Lose(turn, worker, LossReason::kStreamBroken);
    }
  }
  worth_waiting_ = turn.now;
  somebody_seen_ = turn.now + kReturnTime;
  restarted_ = true;
  TellWarning(turn);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ServerReturned& in) {
  if (!shards_.Returned(turn.now, in.server, in.held, shard_actions_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("parameter server ", in.as.name, " has lost what it had"));
  }
  PerformShardActions(turn);
  const std::vector<ShardMap::Shard>& shards = shards_.shards();
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].primary != in.server || shards[i].promoting) continue;
    const int shard = static_cast<int>(i);
    turn.outputs.push_back(
        ResendCommands{shard, commands_.Reissue(turn.now, shard)});
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const BackupReported& in) {
  shards_.Reported(turn.now, in.server, in.shard, in.epoch, in.status,
                   shard_actions_);
  PerformShardActions(turn);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const BackupPromoted& in) {
  if (!shards_.Promoted(turn.now, in.server, in.shard, in.epoch,
                        shard_actions_)) {
    return absl::OkStatus();
  }
  // It must know what the one before has answered for.
  if (!commands_.Reaches(in.shard, in.sequence)) {
    failure_.Update(absl::InternalError(absl::StrCat(
        "parameter server ", shards_.NameOf(in.server), " has taken shard ",
        in.shard, " over without all of its commands")));
    return absl::OkStatus();
  }
  GoOnElsewhere(turn, in.shard);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ShardFilled& in) {
  members_.Heard(in.worker, turn.now);
  if (sources_.FillerOf(in.shard) != in.worker ||
      !shards_.Filled(turn.now, in.shard, in.epoch, shard_actions_)) {
    return absl::OkStatus();
  }
  sources_.Forget(in.shard);
  sources_.copies().Has(in.worker, in.base_version);
  GoOnElsewhere(turn, in.shard);
  TellRebuilt(turn, in.shard,
              sources_.TextOf(in.worker, members_.NameOf(in.worker)));
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ServerLost& in) {
  const bool hosted = shards_.Hosts(in.server);
  shards_.Gone(turn.now, in.server, shard_actions_);
  PerformShardActions(turn);
  if (hosted && stage_ < RunStage::kTraining) {
    LoseShard(turn, in.server, in.why);
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ShardFailed& in) {
  LoseShard(turn, shards_.shards()[in.shard].primary, in.why);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ParametersAdmitted& in) {
  if (stage_ != RunStage::kAdmitting) return absl::OkStatus();
  failure_.Update(in.status);
  if (failure_.ok()) Host(turn);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn&, const CancelRun& in) {
  failure_.Update(in.reason);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const PauseRun& in) {
  end_.pausing = in;
  checkpoints_.Hurry(turn.now);  // Perhaps before a process ends.
  if (stage_ == RunStage::kEvaluating) {
    turn.outputs.push_back(AskForEvaluator{});
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ResumeRun&) {
  if (!std::exchange(end_.pausing, std::nullopt).has_value()) {
    return absl::OkStatus();
  }
  // It may end all the same, for a reason that was there before or came since.
  const bool ends =
      end_.out_of_time || end_.target_reached || !end_.diverged.ok();
  if (core_ == nullptr || !core_->sealed() || ends ||
      core_->samples_counted() >= core_->samples_total()) {
    return absl::OkStatus();
  }
  TrainOn(turn);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const UpdateRun& in) {
  const bool other_interval =
      in.settings.checkpoint_interval != settings_.checkpoint_interval;
  settings_ = in.settings;
  end_.target_reached = ReachedTarget(settings_.stop, evaluations_.accuracy());
  if (core_ == nullptr) return absl::OkStatus();
  core_->SetSchedule(
      ScheduleOf(settings_, model_.train_samples, options_.batch_size));
  core_->SetMaxSamples(turn.now,
                       SamplesWanted(settings_.stop, model_.train_samples),
                       core_outputs_);
  core_->SetBatching(turn.now, settings_.batching, core_outputs_);
  // Whoever ends the choosing ends what was chosen and still waits.
  if (!settings_.steered) core_->StopSwitching();
  Absorb(turn);
  // Else a job that is updated often would never be saved.
  if (other_interval) {
    checkpoints_.SetInterval(turn.now, settings_.checkpoint_interval);
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const SwitchRun& in) {
  if (core_ != nullptr && core_->finished()) {
    return absl::FailedPreconditionError("the job has finished");
  }
  settings_.batching = in.batching.value_or(settings_.batching);
  if (core_ == nullptr) {
    paradigm_ = in.paradigm;
    return absl::OkStatus();
  }
  core_->Switch(turn.now,
                {options_.make_policy(in.paradigm), in.reason, in.batching,
                 in.with_closing},
                core_outputs_);
  Absorb(turn);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const WriteCheckpoint& in) {
  if (!checkpoints_.kept()) {
    return absl::FailedPreconditionError(
        "no checkpoint can be written: start the coordinator with "
        "--checkpoints DIR");
  }
  const bool saving = stage_ == RunStage::kSaving;
  if (stage_ != RunStage::kTraining && !saving) return DoesNotTrain();
  return checkpoints_.Order(MomentOf(turn), in, saving);
}

template <>
absl::Status RunCourse::On(const Turn& turn, const EvaluatorKnown& in) {
  if (stage_ == RunStage::kEvaluating) JudgeEvaluation(turn, in);
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const TimePassed&) {
  shards_.TimePassed(turn.now, shard_actions_);
  PerformShardActions(turn);
  if (core_ == nullptr || core_->NextDeadline() > turn.now) {
    return absl::OkStatus();
  }
  core_->Tick(turn.now, core_outputs_);
  Absorb(turn);
  return absl::OkStatus();
}

absl::Status RunCourse::Step(absl::Time now, const RunInput& input,
                             std::vector<RunOutput>& outputs) {
  if (stage_ == RunStage::kEnded) return AfterTheEnd(input);
  const Turn turn{now, outputs};
  for (const WorkerId worker : std::exchange(to_forget_, {})) {
    members_.Forget(worker);
  }
  looked_ = now;
  const size_t before = outputs.size();
  const absl::Status status =
      std::visit([&](const auto& in) { return On(turn, in); }, input);
  // RunEnded is the last output.
  if (stage_ != RunStage::kEnded) {
    if (now >= next_look_) LookAround(turn);
    while (Proceed(turn)) {
    }
  }
  for (size_t i = before; i < outputs.size(); ++i) {
    const auto* const command = std::get_if<NumberedCommand>(&outputs[i]);
    if (command != nullptr) commands_.Keep(*command);
  }
  commands_.Prune();
  return status;
}

template <>
void RunCourse::Pass(const Turn& turn, const Grant& grant) {
  sources_.copies().Granted(grant);
  noise_.Granted(grant);
  turn.outputs.push_back(grant);
}

template <>
void RunCourse::Pass(const Turn& turn, const PlanCommand& plan) {
  sources_.copies().Planned(plan);
  noise_.Planned(plan);
  turn.outputs.push_back(plan);
}

template <>
void RunCourse::Pass(const Turn& turn, const ExtendCommand& extend) {
  sources_.copies().Extended(extend);
  turn.outputs.push_back(extend);
}

template <>
void RunCourse::Pass(const Turn& turn, const PushCounted& counted) {
  sources_.copies().Counted(counted);
  turn.outputs.push_back(counted);
}

template <>
void RunCourse::Pass(const Turn& turn, const CloseCommand& close) {
  sources_.copies().Closed(close.rounds);
  noise_.Closed(close);
  turn.outputs.push_back(
      NumberedCommand{commands_.NextClosing(turn.now, close.closing), close});
}

template <>
void RunCourse::Pass(const Turn& turn, const AnnounceCommand& announce) {
  // Until that closing there is no other moment for a checkpoint.
  checkpoints_.BeginWanted(MomentOf(turn), settings_.checkpoint_interval);
  turn.outputs.push_back(announce);
}

template <>
void RunCourse::Pass(const Turn& turn, const FenceCommand& fence) {
  turn.outputs.push_back(
      NumberedCommand{commands_.NextFence(turn.now, fence.worker),
                      FenceIncarnation{members_.IncarnationOf(fence.worker)}});
}

template <>
void RunCourse::Pass(const Turn& turn, const SnapshotCommand& snapshot) {
  const absl::Duration trained = static_cast<int64_t>(members_.trainers()) *
                                 absl::Seconds(SecondsAt(turn.now));
  if (!options_.evaluate ||
      !evaluations_.Admit(snapshot.last, turn.now, trained)) {
    return;
  }
  turn.outputs.push_back(NumberedCommand{
      commands_.NextSnapshot(turn.now, snapshot.snapshot), snapshot});
  AccuracyPoint stamp;
  stamp.seconds = SecondsAt(turn.now);
  stamp.version = snapshot.version;
  stamp.version_at_completion = snapshot.version;
  stamp.samples = snapshot.samples;
  stamp.samples_discarded = core_->samples_discarded();
  evaluations_.Add(snapshot.snapshot, snapshot.last, stamp);
  GiveOutEvaluation(turn);
}

template <>
void RunCourse::Pass(const Turn& turn, const Evicted& evicted) {
  turn.outputs.push_back(evicted);
  // Who left or failed says so itself, lives, and is free for other jobs. Who
  // pushes nothing finite hears of it by the answer to its push.
  const bool free = evicted.reason == LossReason::kDeparted ||
                    evicted.reason == LossReason::kFailed ||
                    evicted.reason == LossReason::kNotFinite;
  LetGo(turn, evicted.worker,
        free ? absl::OkStatus()
             : absl::AbortedError(
                   absl::StrCat("this incarnation was declared lost (",
                                Render(evicted.reason), "): register anew")));
}

// Train() looks at it.
template <>
void RunCourse::Pass(const Turn&, const Diverged& diverged) {
  const std::string pushes =
      diverged.in_a_row >= FiniteWatch::kJobInARow
          ? absl::StrCat("the last ", diverged.in_a_row, " pushes")
          : absl::StrCat(diverged.of_latest, " of the last ",
                         FiniteWatch::kWindow, " pushes");
  end_.diverged = absl::OutOfRangeError(absl::StrCat(
      pushes, " of ", diverged.workers,
      diverged.workers == 1 ? " worker" : " workers",
      " were not finite (NaN or infinity), at version ", core_->version(),
      " after ", core_->samples_counted(),
      " samples: the training has diverged, or the data hold such values"));
  outcome_.diverged = true;
}

// Train() looks whether the core has finished.
template <>
void RunCourse::Pass(const Turn&, const Finished&) {}

template <class CoreOutput>
void RunCourse::Pass(const Turn& turn, const CoreOutput& output) {
  turn.outputs.push_back(output);
}

void RunCourse::Absorb(const Turn& turn) {
  for (const Output& output : core_outputs_) {
    std::visit([&](const auto& what) { Pass(turn, what); }, output);
  }
  core_outputs_.clear();
}

}  // namespace paceline
