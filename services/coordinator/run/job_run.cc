#include "services/coordinator/run/job_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/status.h"
#include "services/coordinator/run/time_limits.h"

namespace paceline {
namespace {

// When a job that stops at its target evaluates while others train.
constexpr uint32_t kSubsetSamples = 1000;

}  // namespace

JobRun::JobRun(RunSetup setup, const Clock* clock,
               std::shared_ptr<RunObserver> observer,
               std::shared_ptr<JobMetrics> metrics)
    : setup_(std::move(setup)),
      clock_(clock),
      observer_(std::move(observer)),
      metrics_(std::move(metrics)),
      roster_(setup_.run),
      servers_(setup_.run, setup_.servers, clock),
      record_(setup_.spec.paradigm(), setup_.spec.stop()),
      evaluations_(setup_.spec.evaluation().defer(), clock,
                   [this](WorkerId evaluator, int64_t snapshot, bool last) {
                     v1::WorkerCommand command;
                     command.mutable_evaluate()->set_snapshot(snapshot);
                     if (setup_.spec.stop().at_target() && !last) {
                       command.mutable_evaluate()->set_samples(kSubsetSamples);
                     }
                     roster_.Send(evaluator, std::move(command));
                   }),
      sink_({clock, &roster_, &servers_, &record_, &evaluations_,
             observer_.get(), metrics_.get(),
             !setup_.spec.evaluation().disabled()}),
      checkpoint_(&servers_),
      spec_(setup_.spec) {}

JobRun::~JobRun() = default;

RunOutcome JobRun::Run() {
  RunOutcome outcome;
  outcome.status = RunStages();
  Enter(Stage::kEnded);
  GiveUpCheckpoint(outcome.status.ok() ? absl::AbortedError("the run has ended")
                                       : outcome.status);
  {
    absl::MutexLock lock(&mu_);
    // Before the result is told: a recording that was asked for is part of it.
    if (trace_ != nullptr) outcome.status.Update(trace_->Close());
  }
  const Engine* const trained = engine();
  const bool all_counted =
      trained != nullptr &&
      trained->View().samples_counted >= trained->View().samples_total;
  const bool complete = all_counted || out_of_time_ || record_.StopReached();
  outcome.out_of_workers = out_of_workers_;
  {
    absl::MutexLock lock(&mu_);
    outcome.out_of_servers = out_of_servers_;
    if (out_of_servers_) outcome.status = absl::OkStatus();
  }
  outcome.paused = outcome.status.ok() && !complete &&
                   (pausing() || out_of_workers_ || outcome.out_of_servers);
  outcome.checkpoint = last_checkpoint_;
  StopEverybody(outcome.status);
  metrics_->workers->Set(0);
  metrics_->KeepWorkers({});
  metrics_->training_start_timestamp_seconds->Set(0);
  return outcome;
}

absl::Status JobRun::RunStages() {
  PACELINE_RETURN_IF_ERROR(OpenFiles());
  for (const auto stage : {&JobRun::Assemble, &JobRun::CheckAgreement,
                           &JobRun::HostBlocks, &JobRun::InitializeWeights}) {
    PACELINE_RETURN_IF_ERROR((this->*stage)());
    // Nothing has been trained that a checkpoint would have to keep.
    if (pausing() || out_of_workers_) return absl::OkStatus();
  }
  StartEngine();
  if (out_of_workers_) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(Train());
  PACELINE_RETURN_IF_ERROR(SaveResult());
  // Saved, in case somebody knows better: waiting for workers would not help.
  if (out_of_workers_ && !pausing()) PACELINE_RETURN_IF_ERROR(LastFailure());
  return Evaluate();
}

absl::Status JobRun::OpenFiles() {
  if (!setup_.restore_from.empty()) {
    PACELINE_ASSIGN_OR_RETURN(start_, ReadRunStart(setup_.restore_from));
  }
  if (setup_.trace_file.empty()) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(auto trace, TraceWriter::Create(setup_.trace_file));
  absl::MutexLock lock(&mu_);
  trace_ = std::move(trace);
  return absl::OkStatus();
}

int64_t JobRun::parameter_bytes() const {
  absl::MutexLock lock(&mu_);
  int64_t elements = 0;
  for (const v1::TensorSpec& tensor : agreed_.tensors()) {
    elements += tensor.size();
  }
  return elements * static_cast<int64_t>(sizeof(float));
}

absl::Status JobRun::WaitFor(
    absl::string_view what, absl::Duration timeout,
    const std::function<bool(absl::Duration)>& attempt) {
  const absl::Time deadline = clock_->Now() + timeout;
  absl::Time next_look = clock_->Now();
  while (!attempt(kPollInterval)) {
    PACELINE_RETURN_IF_ERROR(failure());
    const absl::Time now = clock_->Now();
    if (now >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "waited ", absl::FormatDuration(timeout), " for ", what));
    }
    if (now >= next_look) {
      EndSilentMembers();
      ReportProgress();
      next_look = now + kProgressInterval;
    }
  }
  return failure();
}

void JobRun::EndSilentMembers() {
  const absl::Time since = clock_->Now() - lease();
  const bool training = engine() != nullptr;
  for (const Member& member : roster_.Present()) {
    const bool engines =
        training && IsTrainer(member) && member.state == MemberState::kWorking;
    if (engines || member.last_heard >= since) continue;
    LogWarning("not heard for a lease", {{"worker", member.name}});
    roster_.Close(member.id,
                  absl::AbortedError("the lease ended: register anew"));
    WorkerGone(member.id, LossReason::kLeaseEnded);
  }
}

absl::string_view JobRun::PhaseName(Stage stage) {
  switch (stage) {
    case Stage::kAssembling:
    case Stage::kBeginning:
      return "loading";
    case Stage::kTraining:
      return "training";
    case Stage::kEvaluating:
    case Stage::kEnded:
      break;
  }
  return "evaluating";
}

void JobRun::Enter(Stage stage) {
  absl::MutexLock lock(&mu_);
  stage_ = stage;
}

v1::JobProgress JobRun::Progress() const {
  Engine* engine;
  v1::JobProgress progress;
  absl::string_view phase;
  {
    absl::MutexLock lock(&mu_);
    engine = engine_.get();
    phase = PhaseName(stage_);
    progress.set_paradigm(engine == nullptr ? spec_.paradigm()
                                            : engine->DescribePolicy());
  }
  std::map<WorkerId, std::string> names;
  for (const Member& member : roster_.Present()) {
    if (IsTrainer(member)) names.emplace(member.id, member.name);
  }
  const EngineView view = engine == nullptr ? EngineView() : engine->View();
  record_.Progress(view, names, clock_->Now(), progress);
  progress.set_phase(std::string(phase));
  return progress;
}

void JobRun::ReportProgress() {
  const v1::JobProgress progress = Progress();
  ExportProgress(progress);
  observer_->Progressed(progress);
}

std::string JobRun::Report() const {
  Engine* const engine = this->engine();
  if (engine == nullptr) return "";
  return record_.Result(engine->View()).dump();
}

bool JobRun::WantsEvaluator() const { return evaluations_.wants_evaluator(); }

bool JobRun::TrainingOver() const {
  absl::MutexLock lock(&mu_);
  return stage_ == Stage::kEvaluating || stage_ == Stage::kEnded;
}

void JobRun::StopEverybody(const absl::Status& outcome) {
  std::string reason(outcome.message());
  if (outcome.ok()) {
    reason = "the job has ended";
  } else if (!absl::IsCancelled(outcome)) {
    reason = absl::StrCat("the job failed: ", outcome.message());
  }
  v1::WorkerCommand stop_worker;
  stop_worker.mutable_stop()->set_reason(reason);
  roster_.SendToAll(stop_worker);
  v1::ServerCommand unhost;
  unhost.mutable_unhost()->set_reason(reason);
  servers_.SendToAll(unhost);
}

void JobRun::Cancel(const absl::Status& reason) {
  absl::MutexLock lock(&mu_);
  if (failure_.ok()) failure_ = reason;
}

absl::Status JobRun::failure() const {
  absl::MutexLock lock(&mu_);
  return failure_;
}

Engine* JobRun::engine() const {
  absl::MutexLock lock(&mu_);
  return engine_.get();
}

}  // namespace paceline
