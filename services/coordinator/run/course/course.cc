#include "services/coordinator/run/course/course.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "services/coordinator/run/course/time_limits.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

CourseOptions WithPolicies(CourseOptions options) {
  if (options.make_policy == nullptr) {
    options.make_policy = [](const ParadigmSpec& paradigm) {
      return MakePolicy(paradigm);
    };
  }
  return options;
}

// For people: why training ends before all samples are counted. Empty for what
// they are told elsewhere: a pause, a loss that is not finite.
std::string WhyItEnds(const std::optional<MetricTarget>& reached,
                      std::optional<double> seconds) {
  if (reached.has_value()) {
    return absl::StrCat("ended early: two evaluations have reached ",
                        FormatMetricTarget(*reached));
  }
  if (!seconds.has_value()) return "";
  return absl::StrCat("ended early: its ", *seconds, " s are over");
}

}  // namespace

RunCourse::RunCourse(const CourseOptions& options, const RunSettings& settings,
                     absl::Time now)
    : options_(WithPolicies(options)),
      settings_(settings),
      paradigm_(options.paradigm),
      next_look_(now),
      commands_(options.servers.size(), now),
      noise_(options.batch_size),
      evaluations_({.defer = options.defer_evaluation,
                    .share = options.evaluation_share}),
      checkpoints_(options),
      shards_({.replicas = options.replicas,
               .strict = options.strict_durability,
               .patience = std::min(kServerPatienceMax,
                                    options.lease / kServerPatiencePart),
               .retry = kBackupRetryLeases * options.lease,
               .rebuilding = kRebuildingLeases * options.lease},
              options.servers),
      sources_(options.restore_from) {
  CHECK(!options.servers.empty());
  Await(now, RunStage::kOpening, kCheckpointTimeout,
        options.restore_from.empty()
            ? "the files that the job begins with"
            : absl::StrCat("the checkpoint ", options.restore_from,
                           " to be read"));
}

std::string RunCourse::paradigm() const {
  return core_ == nullptr ? FormatParadigm(paradigm_)
                          : core_->policy().Describe();
}

std::string RunCourse::next_paradigm() const {
  return core_ == nullptr ? FormatParadigm(paradigm_)
                          : core_->next_policy().Describe();
}

std::optional<double> RunCourse::noise_of_batch() const {
  const std::optional<GradientNoise> noise = noise_.noise();
  if (!noise.has_value()) return std::nullopt;
  return noise->Over(options_.batch_size);
}

double RunCourse::SecondsAt(absl::Time now) const {
  return core_ == nullptr ? 0 : absl::ToDoubleSeconds(now - end_.began);
}

absl::Time RunCourse::NextDeadline() const {
  if (stage_ == RunStage::kEnded) return absl::InfiniteFuture();
  absl::Time due =
      std::min({next_look_, stage_deadline_, shards_.NextDeadline(looked_)});
  if (stage_ == RunStage::kSaving) {
    due = std::min(due, checkpoints_.next_try());
  }
  if (stage_ != RunStage::kTraining) return due;
  due = std::min(due, core_->NextDeadline());
  if (!core_->closing_announced()) {
    due = std::min(due, checkpoints_.next_due());
  }
  if (!end_.sealed && settings_.stop.seconds > 0) {
    due = std::min(due, end_.began + absl::Seconds(settings_.stop.seconds));
  }
  return due;
}

bool RunCourse::Proceed(const Turn& turn) {
  if (stage_ == RunStage::kEnded) return false;
  if (!failure_.ok()) {
    End(turn, failure_);
    return false;
  }
  if (turn.now >= stage_deadline_) {
    outcome_.unrestored = options_.restored && (stage_ == RunStage::kOpening ||
                                                stage_ == RunStage::kHosting);
    End(turn, absl::DeadlineExceededError(too_late_));
    return false;
  }
  // Nothing has been trained that a checkpoint would have to keep.
  if (end_.pausing.has_value() && stage_ < RunStage::kTraining) {
    End(turn, absl::OkStatus());
    return false;
  }
  switch (stage_) {
    case RunStage::kAssembling:
      return Assemble(turn);
    case RunStage::kHosting:
      if (!commands_.AllDone(awaited_command_)) return false;
      if (options_.restored) {
        StartTraining(turn);
      } else {
        Await(turn.now, RunStage::kInitializing, kAssemblyTimeout,
              "a worker to write the starting weights");
      }
      return true;
    case RunStage::kInitializing:
      return Initialize(turn);
    case RunStage::kTraining:
      return Train(turn);
    case RunStage::kSettling:
      if (!commands_.AllDone(awaited_command_)) return false;
      Enter(RunStage::kSaving);
      return true;
    case RunStage::kSaving:
      return Save(turn);
    case RunStage::kEvaluating:
      if (evaluations_.pending() == 0) End(turn, absl::OkStatus());
      return false;
    default:
      return false;
  }
}

bool RunCourse::Assemble(const Turn& turn) {
  if (FellShort(turn)) return true;
  const std::vector<WorkerId> ready = members_.ReadyTrainers();
  if (ready.empty() || ready.size() < settings_.workers_min) return false;
  model_ = members_.Find(ready.front())->model;
  model_of_ = members_.Find(ready.front())->name;
  if (model_.train_samples < 1 || model_.tensors.empty()) {
    failure_ =
        absl::InvalidArgumentError("the training data or model is empty");
    return true;
  }
  failure_ = CheckModel(model_.tensors);
  for (const WorkerId worker : members_.Present()) {
    RunMember& member = *members_.Find(worker);
    if (member.state != RunMember::State::kReady) continue;
    if (failure_.ok()) {
      failure_ = Annotate(
          CheckAgreement(model_, model_of_, member.model, member.trainer()),
          member.name);
    }
    member.model = {};
  }
  if (failure_.ok()) failure_ = FitsStart(model_, start_);
  if (!failure_.ok()) return true;
  // Who comes later is compared as it comes.
  Enter(RunStage::kAdmitting);
  turn.outputs.push_back(
      AdmitParameters{model_.Elements() * static_cast<int64_t>(sizeof(float))});
  return false;
}

bool RunCourse::FellShort(const Turn& turn) {
  const size_t trainers = members_.trainers();
  if (trainers >= settings_.workers_min) {
    short_since_ = absl::InfiniteFuture();
    return false;
  }
  short_since_ = std::min(short_since_, turn.now);
  if (turn.now - short_since_ < options_.lease) return false;
  if (trainers == 0 && !troubles_.unfit().ok()) {
    // It is the job's fault: nobody could prepare it.
    failure_ = troubles_.unfit();
  } else {
    outcome_.out_of_workers = true;
    End(turn, absl::OkStatus());
  }
  return true;
}

void RunCourse::Host(const Turn& turn) {
  std::vector<TensorShape> tensors;
  for (const ModelTensor& tensor : model_.tensors) {
    tensors.push_back({tensor.name, tensor.size});
  }
  blocks_ = CutIntoBlocks(tensors);
  PlaceBlocks(static_cast<int>(options_.servers.size()),
              absl::MakeSpan(blocks_));
  std::vector<int64_t> bytes(options_.servers.size());
  for (const BlockPlacement& block : blocks_) {
    bytes[block.server] += block.size * static_cast<int64_t>(sizeof(float));
  }
  shards_.SetBytes(bytes);
  awaited_command_ = commands_.Next(turn.now);
  turn.outputs.push_back(NumberedCommand{awaited_command_, HostBlocks{}});
  Await(turn.now, RunStage::kHosting,
        options_.restored ? kCheckpointTimeout : kAssemblyTimeout,
        "the servers to host the model's blocks");
}

bool RunCourse::Initialize(const Turn& turn) {
  if (FellShort(turn)) return true;
  for (const WorkerId worker : members_.Present()) {
    if (!members_.Find(worker)->initialized) continue;
    StartTraining(turn);
    return true;
  }
  // Who writes the starting weights may be lost meanwhile: then the next one
  // writes them, and the same values at that.
  if (writer_.has_value() && members_.Find(*writer_) != nullptr) return false;
  const std::vector<WorkerId> ready = members_.ReadyTrainers();
  if (ready.empty()) return false;
  writer_ = ready.front();
  Begin(turn, *writer_, /*initialize=*/true);
  return false;
}

void RunCourse::StartTraining(const Turn& turn) {
  std::vector<NewMember> trainers;
  for (const WorkerId worker : members_.Present()) {
    const RunMember& member = *members_.Find(worker);
    // Who loads joins later.
    if (member.state == RunMember::State::kLoading || !member.trainer()) {
      continue;
    }
    trainers.push_back({worker, member.wishes});
  }
  if (trainers.empty()) {
    outcome_.out_of_workers = true;
    return End(turn, absl::OkStatus());
  }
  core_ = std::make_unique<SyncCore>(
      SyncOptionsOf(options_, settings_, start_, model_.train_samples),
      options_.make_policy(paradigm_));
  Enter(RunStage::kTraining);
  end_.began = turn.now - absl::Seconds(start_.seconds);
  next_look_ = somebody_seen_ = turn.now;
  checkpoints_.SetInterval(turn.now, settings_.checkpoint_interval);
  shards_.Begin(turn.now, shard_actions_);
  PerformShardActions(turn);
  turn.outputs.push_back(TrainingStarted{
      model_.Parameters(), model_.train_samples, trainers.size()});
  if (troubles_.any_unfit()) TellWarning(turn);  // That is over.
  for (const WorkerId worker : members_.Present()) {
    const RunMember& member = *members_.Find(worker);
    if (member.state != RunMember::State::kReady) continue;
    Begin(turn, worker, /*initialize=*/false);
  }
  ChooseEvaluator(turn);
  core_->Start(turn.now, trainers, core_outputs_);
  for (const auto& [worker, wishes] : trainers) {
    core_->SilentSince(members_.Find(worker)->last_heard, worker);
  }
  Absorb(turn);
}

void RunCourse::TrainOn(const Turn& turn) {
  end_.sealed = outcome_.out_of_workers = false;
  somebody_seen_ = turn.now;
  if (stage_ > RunStage::kTraining) {
    // Seconds of training are those in which it trained.
    end_.began += turn.now - std::exchange(end_.ended, absl::InfiniteFuture());
    checkpoints_.TrainOn(MomentOf(turn), settings_.checkpoint_interval);
    Enter(RunStage::kTraining);
    turn.outputs.push_back(TrainingResumed{});
  }
  std::vector<WorkerId> gone;
  for (const WorkerId worker : core_->Members()) {
    if (members_.Find(worker) == nullptr) gone.push_back(worker);
  }
  core_->Unseal(turn.now, gone,
                SamplesWanted(settings_.stop, model_.train_samples),
                core_outputs_);
  for (const WorkerId worker : members_.Present()) {
    const RunMember& member = *members_.Find(worker);
    if (!member.trainer() || member.state != RunMember::State::kWorking ||
        core_->IsMember(worker)) {
      continue;
    }
    core_->Join(turn.now, {worker, member.wishes}, core_outputs_);
    core_->SilentSince(member.last_heard, worker);
  }
  Absorb(turn);
}

bool RunCourse::Train(const Turn& turn) {
  if (core_->finished()) {
    WatchLoss(turn, /*at_the_end=*/true);
    if (core_->samples_counted() > 0 &&
        core_->samples_discarded() == core_->samples_counted()) {
      end_.diverged.Update(absl::OutOfRangeError(
          "nothing was learned: every push was discarded, because it was not "
          "finite or by the rule of the paradigm; look at the learning rate, "
          "the data and the paradigm"));
    }
    checkpoints_.BeginOrdered(MomentOf(turn));
    end_.ended = turn.now;
    turn.outputs.push_back(TrainingEnded{});
    // The last closing too: from here on the servers hold the result.
    awaited_command_ = commands_.last();
    // As long as while it trains: a server that is slow has the weights.
    Await(turn.now, RunStage::kSettling, kServerStuckLeases * options_.lease,
          "the servers to apply the last update");
    return true;
  }
  if (!core_->closing_announced()) {
    checkpoints_.BeginWanted(MomentOf(turn), settings_.checkpoint_interval);
  }
  const double seconds = settings_.stop.seconds;
  const bool late = seconds > 0 && SecondsAt(turn.now) >= seconds;
  if (!end_.sealed &&
      (late || end_.pausing.has_value() || end_.target_reached.has_value() ||
       !end_.diverged.ok())) {
    end_.out_of_time = late;
    end_.sealed = true;
    outcome_.ended_early = WhyItEnds(
        end_.target_reached, late ? std::optional(seconds) : std::nullopt);
    if (!outcome_.ended_early.empty()) {
      turn.outputs.push_back(Notice{"job", "stop", outcome_.ended_early});
    }
    core_->Seal(turn.now, core_outputs_);
    Absorb(turn);
    return true;
  }
  if (core_->member_count() > 0 || options_.waits_for_workers) {
    somebody_seen_ = turn.now;
  }
  // Who still loads, a program that was started anew, say, will take part.
  const absl::Duration patience =
      members_.trainers() > 0 ? kLoadingTimeout : options_.lease;
  if (turn.now - somebody_seen_ <= patience) return false;
  if (!checkpoints_.kept()) {
    failure_ = LastFailure();
    failure_.Update(absl::UnavailableError(absl::StrCat(
        "no worker is left, and none has come back within a lease",
        troubles_.last_words().empty() ? "" : "; the last one said: ",
        troubles_.last_words())));
    return true;
  }
  if (std::exchange(outcome_.out_of_workers, true)) return false;
  core_->Seal(turn.now, core_outputs_);
  Absorb(turn);
  return true;
}

bool RunCourse::Save(const Turn& turn) {
  const bool paused = end_.pausing.has_value() || outcome_.out_of_workers;
  if (checkpoints_.kept() && !checkpoints_.saved()) {
    checkpoints_.SaveResult(MomentOf(turn), !end_.diverged.ok()
                                                ? kDivergedCheckpoint
                                            : paused ? "pause"
                                                     : "final");
    if (!checkpoints_.saved()) return false;
  }
  // Saved, in case somebody knows better: more of it would not help.
  failure_.Update(end_.diverged);
  // The same: waiting for workers would not help.
  if (outcome_.out_of_workers && !end_.pausing.has_value()) {
    failure_.Update(LastFailure());
  }
  if (failure_.ok()) BeginEvaluating(turn);
  return true;
}

RunCheckpoints::Moment RunCourse::MomentOf(const Turn& turn) {
  return {turn.now,
          turn.outputs,
          core_.get(),
          &commands_,
          SecondsAt(std::min(turn.now, end_.ended)),
          &shards_};
}

void RunCourse::BeginEvaluating(const Turn& turn) {
  Enter(RunStage::kEvaluating);
  evaluations_.Open();
  worth_waiting_ = next_look_ = turn.now;
  GiveOutEvaluation(turn);
}

bool RunCourse::saving_delayed() const {
  return stage_ == RunStage::kSaving && checkpoints_.delayed();
}

absl::Status RunCourse::LastFailure() const {
  // Who still loads may have what the others lacked.
  return members_.trainers() > 0 ? absl::OkStatus() : troubles_.failure();
}

void RunCourse::Enter(RunStage stage) {
  stage_ = stage;
  stage_deadline_ = absl::InfiniteFuture();
}

void RunCourse::Await(absl::Time now, RunStage stage, absl::Duration limit,
                      absl::string_view what) {
  Enter(stage);
  stage_deadline_ = now + limit;
  too_late_ =
      absl::StrCat("waited ", absl::FormatDuration(limit), " for ", what);
}

void RunCourse::End(const Turn& turn, absl::Status status) {
  checkpoints_.Abort(
      MomentOf(turn),
      status.ok() ? absl::AbortedError("the run has ended") : status);
  Enter(RunStage::kEnded);
  // What a server that has left took with it was nothing yet.
  if (outcome_.out_of_servers) status = absl::OkStatus();
  const bool all_counted =
      core_ != nullptr && core_->samples_counted() >= core_->samples_total();
  const bool complete =
      all_counted || end_.out_of_time || end_.target_reached.has_value();
  outcome_.paused = status.ok() && !complete &&
                    (end_.pausing.has_value() || outcome_.out_of_workers ||
                     outcome_.out_of_servers);
  outcome_.status = std::move(status);
  if (checkpoints_.last_written().has_value()) {
    outcome_.checkpoint = checkpoints_.last_written()->id;
  }
  turn.outputs.push_back(RunEnded{outcome_});
}

void RunCourse::LookAround(const Turn& turn) {
  next_look_ = turn.now + options_.look_every;
  if (stage_ == RunStage::kOpening) return;  // No lease has begun.
  // The core looks after those who train.
  for (const WorkerId worker : members_.Present()) {
    const RunMember& member = *members_.Find(worker);
    const bool trains = core_ != nullptr && member.trainer() &&
                        member.state == RunMember::State::kWorking;
    if (trains || turn.now - member.last_heard <= options_.lease) continue;
    Lose(turn, worker, LossReason::kLeaseEnded);
  }
  if (const auto stuck =
          evaluations_.FindOverdue(turn.now, kEvaluationTimeout)) {
    // First, so that it is asked for no other.
    evaluations_.EvaluatorLeft(stuck->evaluator, /*lost=*/false);
    DropEvaluation(
        turn, stuck->snapshot, members_.NameOf(stuck->evaluator),
        absl::DeadlineExceededError(absl::StrCat(
            "no result after ", absl::FormatDuration(kEvaluationTimeout))));
    LetGo(turn, stuck->evaluator,
          absl::AbortedError("the evaluation hangs: register anew"));
    to_forget_.push_back(stuck->evaluator);
    ChooseEvaluator(turn);
  }
  checkpoints_.Look(MomentOf(turn), stage_ == RunStage::kSaving);
  const absl::Duration limit = kServerStuckLeases * options_.lease;
  const std::optional<int> stuck = commands_.Stuck(turn.now, limit);
  const bool commanded =
      stage_ == RunStage::kTraining || stage_ == RunStage::kSaving;
  if (commanded && stuck.has_value() &&
      shards_.Replace(*stuck, shard_actions_)) {
    PerformShardActions(turn);
  } else if (commanded && stuck.has_value() && failure_.ok()) {
    outcome_.weights_lost = true;
    failure_ = absl::UnavailableError(absl::StrCat(
        "parameter server ", shards_.PrimaryOf(*stuck),
        " has carried out no command for ", absl::FormatDuration(limit),
        ", though it is connected: restart it"));
  }
  if (stage_ == RunStage::kEvaluating) {
    turn.outputs.push_back(AskForEvaluator{});
  }
  if (stage_ == RunStage::kTraining) WatchLoss(turn, /*at_the_end=*/false);
  turn.outputs.push_back(ProgressDue{});
}

void RunCourse::WatchLoss(const Turn& turn, bool at_the_end) {
  // One that was restored may have nothing more to learn. A loss that is flat
  // at first may fall yet.
  const bool judged =
      !options_.restored &&
      (at_the_end || 4 * core_->samples_counted() >= core_->samples_total());
  std::string warning;
  if (judged && losses_.Flat()) {
    warning =
        "the loss has not fallen: the job learns nothing so far; look at "
        "the learning rate and the data";
  }
  if (warning == flat_loss_) return;
  flat_loss_ = warning;
  turn.outputs.push_back(Notice{
      "job", "loss_flat",
      warning.empty()
          ? "the loss has fallen"
          : absl::StrCat("the loss has not fallen: ", losses_.Describe()),
      /*costs_work=*/!warning.empty()});
  TellWarning(turn);
}

void RunCourse::TellWarning(const Turn& turn) {
  const bool both = !flat_loss_.empty() && !lost_updates_.empty();
  outcome_.warning = absl::StrCat(lost_updates_, both ? "; " : "", flat_loss_);
  turn.outputs.push_back(
      Warning{restarted_ ? "the coordinator has restarted: the job's servers "
                           "and workers come back"
                         : outcome_.warning});
}

}  // namespace paceline
