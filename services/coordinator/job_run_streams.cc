// What the members' streams say to the job.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "services/coordinator/job_run.h"

namespace paceline {

absl::StatusOr<WorkerId> JobRun::WorkerCame(const v1::WorkerHello& hello,
                                            WorkerPeer peer) {
  {
    absl::MutexLock lock(&mu_);
    if (stage_ == Stage::kEnded) {
      // Not UNAVAILABLE: to come again would be in vain.
      return absl::FailedPreconditionError("the job has ended");
    }
  }
  PACELINE_ASSIGN_OR_RETURN(
      const Member member,
      roster_.Register(hello, std::move(peer), clock_->Now()));
  v1::WorkerCommand command;
  command.mutable_welcome()->set_incarnation(member.incarnation);
  *command.mutable_welcome()->mutable_job() = spec_;
  roster_.Send(member.id, std::move(command));
  LogInfo("registered", {{"worker", member.name}});
  return member.id;
}

absl::Status JobRun::WorkerSaid(WorkerId worker,
                                const v1::WorkerMessage& message) {
  roster_.Heard(worker, clock_->Now());
  if (Engine* const engine = this->engine()) engine->Heard(worker);
  switch (message.kind_case()) {
    case v1::WorkerMessage::kHeartbeat: {
      v1::WorkerCommand answer;
      answer.mutable_heartbeat();
      roster_.Send(worker, std::move(answer));
      return absl::OkStatus();
    }
    case v1::WorkerMessage::kReady:
      return WorkerReady(worker, message.ready());
    case v1::WorkerMessage::kInitialized:
      roster_.Initialized(worker);
      return absl::OkStatus();
    case v1::WorkerMessage::kPushDone:
      return Counted(worker, message.push_done());
    case v1::WorkerMessage::kGradientReady:
    case v1::WorkerMessage::kAbandoned:
      return OfAnIteration(worker, message);
    case v1::WorkerMessage::kEvaluated:
      return EvaluationDone(worker, message.evaluated());
    case v1::WorkerMessage::kLeaving:
      WorkerGone(worker, LossReason::kDeparted);
      return absl::OkStatus();
    case v1::WorkerMessage::kFailed:
      Cancel(Annotate(
          FromCode(message.failed().code(), message.failed().message()),
          roster_.NameOf(worker)));
      return absl::OkStatus();
    case v1::WorkerMessage::kHello:
    case v1::WorkerMessage::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("that message is not expected here");
}

absl::Status JobRun::WorkerReady(WorkerId worker,
                                 const v1::WorkerReady& ready) {
  // One step with the look at the stage: the engine starts with those who are
  // ready, and the others join.
  absl::MutexLock lock(&mu_);
  const bool evaluator = roster_.Find(worker)->evaluator;
  if (stage_ != Stage::kAssembling) {
    // Before it counts as ready: nobody else must make it begin.
    PACELINE_RETURN_IF_ERROR(Agrees(evaluator, ready));
  }
  PACELINE_RETURN_IF_ERROR(roster_.Ready(worker, ready));
  if (stage_ != Stage::kTraining && stage_ != Stage::kEvaluating) {
    return absl::OkStatus();
  }
  Begin(worker, /*initialize=*/false);
  if (evaluator) {
    evaluations_.EvaluatorCame(worker);
  } else {
    engine_->Join(worker);
  }
  return absl::OkStatus();
}

void JobRun::Begin(WorkerId worker, bool initialize) {
  v1::WorkerCommand command;
  v1::BeginJob& begin = *command.mutable_begin();
  *begin.mutable_shards() = {shards_.begin(), shards_.end()};
  begin.set_initialize(initialize);
  roster_.Send(worker, std::move(command));
  roster_.Working(worker);
}

absl::Status JobRun::Counted(WorkerId worker, const v1::PushDone& report) {
  Engine* const engine = this->engine();
  if (engine == nullptr) {
    return absl::InvalidArgumentError("the training has not begun");
  }
  // Before the engine: it may finish the job with this push.
  const std::string name = roster_.NameOf(worker);
  record_.Reported(name, report);
  if (trace_ != nullptr) trace_->Write(name, report);
  metrics_->gate_wait_seconds.Observe(report.seconds().wait());
  metrics_->blocks_refused.Increment(report.blocks_refused());
  return engine->PushDone(
      worker, {report.iteration(), report.samples(), report.blocks(),
               report.blocks_refused(), report.discarded()});
}

absl::Status JobRun::OfAnIteration(WorkerId worker,
                                   const v1::WorkerMessage& message) {
  Engine* const engine = this->engine();
  if (engine == nullptr) {
    return absl::InvalidArgumentError("the training has not begun");
  }
  if (message.has_abandoned()) {
    return engine->Abandoned(worker, message.abandoned().iteration());
  }
  return engine->GradientReady(worker, message.gradient_ready().iteration());
}

absl::Status JobRun::EvaluationDone(WorkerId worker,
                                    const v1::Evaluated& evaluated) {
  PACELINE_ASSIGN_OR_RETURN(
      const AccuracyPoint point,
      evaluations_.Done(worker, evaluated.snapshot(), evaluated.accuracy(),
                        evaluated.loss(), record_));
  v1::ServerCommand release;
  release.mutable_release_snapshot()->set_snapshot(evaluated.snapshot());
  servers_.Broadcast(std::move(release));
  metrics_->accuracy_ratio.Set(point.accuracy);
  reporter_->Report("evaluated", {{"seconds", point.seconds},
                                  {"version", point.version},
                                  {"samples", point.samples},
                                  {"accuracy", point.accuracy},
                                  {"loss", point.loss}});
  if (spec_.stop_at_target() && record_.TargetReached()) engine()->Seal();
  return absl::OkStatus();
}

void JobRun::WorkerGone(WorkerId worker, LossReason reason) {
  const bool evaluator = [&] {
    const std::optional<Member> member = roster_.Find(worker);
    return member.has_value() && member->evaluator;
  }();
  // A polite leaver's stream is closed by the engine's eviction, which needs it
  // to be there still.
  if (reason != LossReason::kDeparted && !roster_.Gone(worker)) return;
  if (evaluator) {
    evaluations_.EvaluatorLeft(worker);
  } else if (Engine* const engine = this->engine()) {
    engine->Leave(worker, reason);
  }
}

absl::StatusOr<int> JobRun::ServerCame(const v1::ServerHello& hello,
                                       ServerPeer peer) {
  PACELINE_ASSIGN_OR_RETURN(
      const int server,
      servers_.Register(hello, std::move(peer), clock_->Now()));
  v1::ServerCommand command;
  command.mutable_welcome()->set_lease_ms(spec_.lease_ms());
  servers_.Send(server, std::move(command));
  LogInfo("registered", {{"server", hello.name()}});
  return server;
}

absl::Status JobRun::ServerSaid(int server, const v1::ServerMessage& message) {
  servers_.Heard(server, clock_->Now());
  switch (message.kind_case()) {
    case v1::ServerMessage::kHeartbeat: {
      v1::ServerCommand answer;
      answer.mutable_heartbeat();
      servers_.Send(server, std::move(answer));
      return absl::OkStatus();
    }
    case v1::ServerMessage::kDone:
      CommandDone(server, message.done());
      return absl::OkStatus();
    case v1::ServerMessage::kFailed:
      Cancel(Annotate(
          FromCode(message.failed().code(), message.failed().message()),
          servers_.NameOf(server)));
      return absl::OkStatus();
    case v1::ServerMessage::kHello:
    case v1::ServerMessage::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("that message is not expected here");
}

void JobRun::CommandDone(int server, const v1::CommandDone& done) {
  servers_.Done(server, done.sequence());
  Engine* const engine = this->engine();
  if (engine == nullptr) return;
  if (done.has_fence()) {
    const std::optional<WorkerId> worker = sink_.FencedBy(done.sequence());
    if (!worker.has_value()) return;
    engine->FenceAnswered(
        *worker, {server, done.fence().iteration(), done.fence().blocks_taken(),
                  done.fence().blocks(), done.fence().samples()});
  }
  const std::optional<int64_t> snapshot = sink_.SnapshotOf(done.sequence());
  if (snapshot.has_value() && servers_.AllDone(done.sequence())) {
    evaluations_.Completed(*snapshot, engine->View().version);
  }
}

void JobRun::ServerGone(int server) {
  {
    absl::MutexLock lock(&mu_);
    if (stage_ == Stage::kEnded) return;
  }
  Cancel(absl::UnavailableError(
      absl::StrCat("parameter server ", servers_.NameOf(server),
                   " is gone: its part of the model is lost")));
}

}  // namespace paceline
