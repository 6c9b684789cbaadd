// The training stages of a run: what is looked after while workers compute,
// and how it ends.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/log/log.h"
#include "common/status.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/coordinator/run/checkpoint_files.h"
#include "services/coordinator/run/job_run.h"
#include "services/coordinator/run/time_limits.h"

namespace paceline {
namespace {

// As for a worker whose heartbeats go on while its iteration does not.
constexpr int kServerStuckLeases = 10;

}  // namespace

absl::Status JobRun::Train() {
  next_report_ = somebody_seen_ = clock_->Now();
  {
    absl::MutexLock lock(&mu_);
    next_checkpoint_ = NextCheckpoint(clock_->Now());
  }
  while (!sink_.finished()) {
    PACELINE_RETURN_IF_ERROR(LookAfterTraining());
    // Ends at once when the engine finishes.
    sink_.AwaitFinished(kPollInterval);
  }
  metrics_->training_start_timestamp_seconds->Set(0);
  ReportProgress();
  // The last closing too: from here on the servers hold the result.
  const uint64_t last = servers_.last_sequence();
  return WaitFor("the servers to apply the last update", 3 * lease(),
                 [&](absl::Duration timeout) {
                   return servers_.AwaitDone(last, timeout);
                 });
}

absl::Status JobRun::LookAfterTraining() {
  PACELINE_RETURN_IF_ERROR(failure());
  const absl::Time now = clock_->Now();
  if (now >= next_report_) {
    ReportProgress();
    EndSilentMembers();
    EndStuckEvaluation();
    PACELINE_RETURN_IF_ERROR(CheckServers());
    next_report_ = now + kProgressInterval;
  }
  FinishCheckpoint();
  CheckpointIfDue(now);
  SealIfDue(now);
  if (!engine()->View().workers.empty()) somebody_seen_ = now;
  if (now - somebody_seen_ <= lease()) return absl::OkStatus();
  if (setup_.checkpoint_root.empty()) {
    PACELINE_RETURN_IF_ERROR(LastFailure());
    return absl::UnavailableError(
        "no worker is left, and none has come back within a lease");
  }
  if (!std::exchange(out_of_workers_, true)) engine()->Seal();
  return absl::OkStatus();
}

absl::Status JobRun::CheckServers() const {
  const absl::Duration limit = kServerStuckLeases * lease();
  const std::optional<int> stuck = servers_.Stuck(limit);
  if (!stuck.has_value()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "parameter server ", servers_.NameOf(*stuck),
      " has carried out no command for ", absl::FormatDuration(limit),
      ", though it is connected: restart it, and restore the job from its last "
      "checkpoint"));
}

void JobRun::EndStuckEvaluation() {
  const auto stuck = evaluations_.FindOverdue(kEvaluationTimeout);
  if (!stuck.has_value()) return;
  const absl::Status why = absl::DeadlineExceededError(absl::StrCat(
      "no result after ", absl::FormatDuration(kEvaluationTimeout)));
  DropEvaluation(stuck->snapshot, roster_.NameOf(stuck->evaluator), why);
  roster_.Close(stuck->evaluator,
                absl::AbortedError("the evaluation hangs: register anew"));
  WorkerGone(stuck->evaluator, LossReason::kLeaseEnded);
}

void JobRun::SealIfDue(absl::Time now) {
  if (sealed_) return;
  const v1::StopConditions conditions = stop();
  const bool late = conditions.seconds() > 0 &&
                    record_.SecondsAt(now) >= conditions.seconds();
  if (!late && !pausing() && !record_.StopReached()) return;
  out_of_time_ = late;
  sealed_ = true;
  engine()->Seal();
}

void JobRun::CheckpointIfDue(absl::Time now) {
  {
    absl::MutexLock lock(&mu_);
    if (now < next_checkpoint_) return;
    next_checkpoint_ = NextCheckpoint(now);
  }
  const std::string id = CheckpointId("auto");
  // Nothing was counted since the last one, which must stay whole.
  if (id == last_interval_id_) return;
  if (BeginCheckpoint(id)) last_interval_id_ = id;
}

absl::Duration JobRun::CheckpointInterval() const {
  if (setup_.checkpoint_root.empty()) return absl::ZeroDuration();
  const auto& interval = spec_.checkpoints().interval();
  return std::max(
      absl::ZeroDuration(),
      absl::Seconds(interval.seconds()) + absl::Nanoseconds(interval.nanos()));
}

absl::Time JobRun::NextCheckpoint(absl::Time now) const {
  const absl::Duration every = CheckpointInterval();
  return every == absl::ZeroDuration() ? absl::InfiniteFuture() : now + every;
}

std::string JobRun::CheckpointId(absl::string_view kind) const {
  // A job that was restored may come to the same samples again.
  return absl::StrFormat("%s-%d-%04x", kind, engine()->View().samples_counted,
                         setup_.run & 0xffff);
}

absl::Status JobRun::WriteCheckpoint(const std::string& id) {
  if (setup_.checkpoint_root.empty()) {
    return absl::FailedPreconditionError(
        "no checkpoint can be written: start the coordinator with "
        "--checkpoints DIR");
  }
  {
    absl::MutexLock lock(&mu_);
    if (stage_ != Stage::kTraining) {
      return absl::FailedPreconditionError("the job does not train right now");
    }
  }
  if (!BeginCheckpoint(id)) {
    return absl::FailedPreconditionError(
        "a checkpoint of the job is being written: try again when it is ready");
  }
  return absl::OkStatus();
}

bool JobRun::BeginCheckpoint(const std::string& id) {
  CheckpointOrder::Order order;
  order.id = id;
  order.directory = absl::StrCat(setup_.checkpoint_root, "/", id);
  order.begun = clock_->Now();
  order.seconds = record_.SecondsAt(order.begun);
  order.files.resize(servers_.size());
  bool begun = false;
  engine()->TakeResumePoint([&](const ResumePoint& point) {
    // Nobody else begins one: the engine's lock is held.
    if (!checkpoint_.idle()) return;
    order.point = point;
    // Told first: the servers may be done before this thread goes on.
    observer_->CheckpointChanged(
        ToCheckpoint(order, v1::Checkpoint::WRITING, absl::OkStatus()));
    begun = checkpoint_.Begin(order);
  });
  if (begun) metrics_->checkpoints->Increment();
  return begun;
}

void JobRun::FinishCheckpoint() {
  absl::Status written;
  if (const auto order = checkpoint_.TakeWritten(written)) {
    if (written.ok()) written = WriteManifest(*order);
    if (!written.ok()) {
      // What some of the servers have written. There may be nothing.
      const absl::Status removed = RemoveCheckpoint(order->directory);
      if (!removed.ok() && !absl::IsNotFound(removed)) {
        LogWarning(removed.message());
      }
    }
    return EndCheckpoint(*order, written);
  }
  if (!CheckpointOverdue()) return;
  // Its files stay for whoever deletes it: this disk is waited for no more.
  GiveUpCheckpoint(absl::DeadlineExceededError(
      absl::StrCat("not written in time by ", checkpoint_.StillWriting(),
                   ": look at the disk of the checkpoints")));
}

void JobRun::GiveUpCheckpoint(const absl::Status& why) {
  if (const auto order = checkpoint_.GiveUp()) EndCheckpoint(*order, why);
}

absl::Status JobRun::WriteManifest(const CheckpointOrder::Order& order) const {
  v1::JobSpec spec;
  v1::WorkerReady agreed;
  std::vector<v1::Shard> shards;
  {
    absl::MutexLock lock(&mu_);
    spec = spec_;
    agreed = agreed_;
    shards = shards_;
    // That of a planned switch, too.
    spec.set_paradigm(engine_->DescribePolicy());
  }
  return WriteCheckpointManifest(order, setup_.job_name, spec, agreed, shards);
}

void JobRun::EndCheckpoint(const CheckpointOrder::Order& order,
                           const absl::Status& written) {
  if (written.ok()) {
    last_checkpoint_ = order.id;
    metrics_->last_checkpoint_timestamp_seconds->Set(
        absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  } else {
    LogWarning(
        "the checkpoint could not be written",
        {{"checkpoint", order.id}, {"reason", std::string(written.message())}});
    metrics_->checkpoints_failed->Increment();
  }
  checkpoint_failure_ = written;
  v1::Checkpoint checkpoint = ToCheckpoint(
      order, written.ok() ? v1::Checkpoint::READY : v1::Checkpoint::FAILED,
      written);
  const double took = absl::ToDoubleSeconds(clock_->Now() - order.begun);
  checkpoint.set_write_seconds(took);
  metrics_->checkpoint_seconds->Observe(took);
  observer_->CheckpointChanged(checkpoint);
}

bool JobRun::CheckpointOverdue() const {
  return checkpoint_.BegunBefore(clock_->Now() - kCheckpointTimeout);
}

absl::Status JobRun::AwaitCheckpoint() {
  PACELINE_RETURN_IF_ERROR(
      WaitFor("the servers to write the checkpoint", absl::InfiniteDuration(),
              [&](absl::Duration timeout) {
                return checkpoint_.AwaitWritten(timeout) || CheckpointOverdue();
              }));
  checkpoint_failure_ = absl::OkStatus();
  FinishCheckpoint();
  return checkpoint_failure_;
}

absl::Status JobRun::SaveResult() {
  if (setup_.checkpoint_root.empty()) return absl::OkStatus();
  // One that had begun before the end: it is of no more use than its failing.
  const absl::Status earlier = AwaitCheckpoint();
  if (!earlier.ok() && !failure().ok()) return earlier;
  const bool paused = pausing() || out_of_workers_;
  BeginCheckpoint(CheckpointId(paused ? "pause" : "final"));
  return Annotate(AwaitCheckpoint(), "the trained weights could not be saved");
}

absl::Status JobRun::Evaluate() {
  Enter(Stage::kEvaluating);
  evaluations_.Open();
  absl::Time worth_waiting = next_report_ = clock_->Now();
  while (!evaluations_.AwaitEmpty(kPollInterval)) {
    PACELINE_RETURN_IF_ERROR(failure());
    const absl::Time now = clock_->Now();
    if (now >= next_report_) {
      ReportProgress();
      EndSilentMembers();
      EndStuckEvaluation();
      next_report_ = now + kProgressInterval;
    }
    const std::string why_not = WhyNotEvaluate(now, worth_waiting);
    if (why_not.empty()) continue;
    Tell("job", "evaluation",
         absl::StrCat(evaluations_.pending(),
                      " snapshots are not evaluated: ", why_not));
    break;
  }
  // The last evaluation's accuracy is what stays to be seen.
  ExportProgress(Progress());
  return absl::OkStatus();
}

std::string JobRun::WhyNotEvaluate(absl::Time now, absl::Time& worth_waiting) {
  absl::Duration patience = 3 * lease();
  std::string leaving = out_of_workers_ ? "the job waits for workers" : "";
  {
    absl::MutexLock lock(&mu_);
    if (!server_lost_.empty()) {
      return absl::StrCat("parameter server ", server_lost_, " is gone");
    }
    if (pausing_) {
      leaving = "the job is paused";
      patience = evaluate_for_;
    }
  }
  const bool possible =
      evaluations_.has_evaluator() || setup_.evaluator_exists();
  if (possible && leaving.empty()) worth_waiting = now;
  if (now - worth_waiting < patience) return "";
  if (!leaving.empty()) return leaving;
  return "no evaluator is connected that could do it; the training itself has "
         "finished";
}

void JobRun::Pause(absl::Duration evaluate_for) {
  absl::MutexLock lock(&mu_);
  pausing_ = true;
  evaluate_for_ = evaluate_for;
}

bool JobRun::pausing() const {
  absl::MutexLock lock(&mu_);
  return pausing_;
}

size_t JobRun::workers_min() const {
  absl::MutexLock lock(&mu_);
  return spec_.workers().min();
}

v1::StopConditions JobRun::stop() const {
  absl::MutexLock lock(&mu_);
  return spec_.stop();
}

absl::Status JobRun::Update(const v1::JobSpec& spec) {
  PACELINE_ASSIGN_OR_RETURN(const RateSpec rate,
                            ParseRateSpec(spec.schedule()));
  absl::MutexLock lock(&mu_);
  const bool other_interval =
      spec.checkpoints().interval().SerializeAsString() !=
      spec_.checkpoints().interval().SerializeAsString();
  spec_.set_learning_rate(spec.learning_rate());
  spec_.set_batching(spec.batching());
  *spec_.mutable_workers() = spec.workers();
  *spec_.mutable_stop() = spec.stop();
  *spec_.mutable_checkpoints() = spec.checkpoints();
  record_.SetStop(spec.stop());
  if (engine_ == nullptr) return absl::OkStatus();
  engine_->SetSchedule(
      RateSchedule(spec_.learning_rate(), rate, SamplesWanted()));
  engine_->SetMaxSamples(SamplesWanted());
  engine_->SetBatching(spec_.batching() == "balanced" ? Batching::kBalanced
                                                      : Batching::kEven);
  // Else a job that is updated often would never be saved.
  if (other_interval) next_checkpoint_ = NextCheckpoint(clock_->Now());
  return absl::OkStatus();
}

absl::Status JobRun::Switch(const std::string& paradigm,
                            absl::string_view reason) {
  PACELINE_RETURN_IF_ERROR(MakePolicy(paradigm).status());
  Engine* engine = nullptr;
  {
    absl::MutexLock lock(&mu_);
    engine = engine_.get();
    if (engine == nullptr) {
      spec_.set_paradigm(paradigm);
      record_.SetParadigm(paradigm);
    }
  }
  if (engine == nullptr) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(engine->Switch(paradigm, reason));
  absl::MutexLock lock(&mu_);
  spec_.set_paradigm(paradigm);
  return absl::OkStatus();
}

}  // namespace paceline
