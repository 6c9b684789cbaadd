// What each input does to the course of a run, before the stages go on.

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
  Await(turn, RunStage::kAssembling, kLoadingTimeout,
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
  if (member->name == unfit_name_) unfit_ = absl::OkStatus();
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
  Absorb(turn);
  if (status.ok() && in.loss.has_value()) losses_.Pushed(*in.loss);
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
      evaluations_.Done(in.worker, in.snapshot, in.accuracy, in.loss,
                        in.metrics));
  target_reached_ = ReachedTarget(settings_.stop, evaluations_.accuracy());
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
    last_words_ = absl::StrCat(name, ": ", in.why.message());
  }
  if (failed && !in.why.ok()) TellUnfit(turn, in.worker, in.why);
  if (!failed && !in.why.ok()) {
    turn.outputs.push_back(
        Notice{name, "loss", absl::StrCat("gives up: ", in.why.ToString())});
  }
  Lose(turn, in.worker, in.reason);
  // A machine's own trouble: another may do what it could not.
  if (failed && trained && !absl::IsInternal(in.why) &&
      !absl::IsUnavailable(in.why)) {
    last_failure_ = Annotate(in.why, name);
  }
  return absl::OkStatus();
}

void RunCourse::Lose(const Turn& turn, WorkerId worker, LossReason reason) {
  const RunMember member = *members_.Find(worker);
  if (core_ != nullptr && member.trainer()) {
    if (member.state == RunMember::State::kWorking) {
      last_failure_ = absl::OkStatus();
    }
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
}

void RunCourse::TellUnfit(const Turn& turn, WorkerId worker,
                          const absl::Status& why) {
  const RunMember* const member = members_.Find(worker);
  if (member == nullptr) return;
  turn.outputs.push_back(
      Notice{member->name, "loss",
             absl::StrCat("cannot take part: ", why.ToString())});
  if (!member->trainer() || !unfit_.ok()) return;
  unfit_ = Annotate(why, member->name);
  unfit_name_ = member->name;
}

template <>
absl::Status RunCourse::On(const Turn& turn, const CommandDone& in) {
  commands_.Done(turn.now, in.server, in.sequence);
  if (core_ == nullptr) return absl::OkStatus();
  checkpoints_.CommandDone(in.sequence, core_->version());
  const Closing closing = commands_.ClosingUpTo(in.sequence);
  if (closing > 0) {
    core_->ClosingPerformed(turn.now, in.server, closing, core_outputs_);
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
    DropEvaluation(turn, *snapshot, options_.servers[in.server], in.status);
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
absl::Status RunCourse::On(const Turn& turn, const ServerLeaves& in) {
  leaving_servers_.insert(in.server);
  checkpoints_.Hurry(turn.now);  // Its grace is short.
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ServerLost& in) {
  if (stage_ == RunStage::kEvaluating) {
    // The result is saved, or was never to be.
    StopEvaluating(turn, absl::StrCat("parameter server ",
                                      options_.servers[in.server], " is gone"));
  } else if (failure_.ok()) {
    failure_ = in.why;
    // One that goes without a word may do so because of this very job.
    const bool left = leaving_servers_.contains(in.server);
    outcome_.out_of_servers = stage_ < RunStage::kTraining && left;
    outcome_.weights_lost = stage_ >= RunStage::kTraining;
    outcome_.unrestored = options_.restored && stage_ == RunStage::kHosting &&
                          !absl::IsUnavailable(in.why);
    if (outcome_.weights_lost && left && checkpoints_.kept()) {
      outcome_.left_unsaved = true;
      failure_ = absl::UnavailableError(absl::StrCat(
          "parameter server ", options_.servers[in.server],
          " was told to stop and has gone before the weights were saved",
          checkpoints_.failure().ok() ? "" : ": ",
          checkpoints_.failure().message()));
    }
  }
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
  pausing_ = in;
  checkpoints_.Hurry(turn.now);  // Perhaps before a process ends.
  if (stage_ == RunStage::kEvaluating) {
    turn.outputs.push_back(AskForEvaluator{});
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const ResumeRun&) {
  if (!std::exchange(pausing_, std::nullopt).has_value()) {
    return absl::OkStatus();
  }
  // It may end all the same, for a reason that was there before or came since.
  const bool ends = out_of_time_ || target_reached_ || !diverged_.ok();
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
  target_reached_ = ReachedTarget(settings_.stop, evaluations_.accuracy());
  if (core_ == nullptr) return absl::OkStatus();
  core_->SetSchedule(ScheduleOf(settings_, model_.train_samples));
  core_->SetMaxSamples(turn.now,
                       SamplesWanted(settings_.stop, model_.train_samples),
                       core_outputs_);
  core_->SetBatching(turn.now, settings_.batching, core_outputs_);
  Absorb(turn);
  // Else a job that is updated often would never be saved.
  if (other_interval) {
    checkpoints_.SetInterval(turn.now, settings_.checkpoint_interval);
  }
  return absl::OkStatus();
}

template <>
absl::Status RunCourse::On(const Turn& turn, const SwitchRun& in) {
  if (core_ == nullptr) {
    paradigm_ = in.paradigm;
    return absl::OkStatus();
  }
  if (core_->finished()) {
    return absl::FailedPreconditionError("the job has finished");
  }
  core_->Switch(turn.now, options_.make_policy(in.paradigm), in.reason,
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
  const absl::Status status =
      std::visit([&](const auto& in) { return On(turn, in); }, input);
  // RunEnded is the last output.
  if (stage_ != RunStage::kOpening && stage_ != RunStage::kEnded) {
    if (now >= next_look_) LookAround(turn);
    while (Proceed(turn)) {
    }
  }
  commands_.Prune();
  return status;
}

template <>
void RunCourse::Pass(const Turn& turn, const CloseCommand& close) {
  turn.outputs.push_back(
      NumberedCommand{commands_.NextClosing(turn.now, close.closing), close});
}

template <>
void RunCourse::Pass(const Turn& turn, const FenceCommand& fence) {
  turn.outputs.push_back(
      NumberedCommand{commands_.NextFence(turn.now, fence.worker),
                      FenceIncarnation{members_.IncarnationOf(fence.worker)}});
}

template <>
void RunCourse::Pass(const Turn& turn, const SnapshotCommand& snapshot) {
  if (!options_.evaluate || !evaluations_.Admit(snapshot.last)) return;
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
  diverged_ = absl::OutOfRangeError(absl::StrCat(
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
