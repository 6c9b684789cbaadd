// What the members' streams say to the job.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "services/coordinator/run/job_run.h"

namespace paceline {

absl::StatusOr<WorkerId> JobRun::WorkerCame(const v1::WorkerHello& hello,
                                            WorkerPeer peer) {
  // Held to the end: whoever is told to take part is told to stop too.
  absl::MutexLock lock(&mu_);
  if (stage_ == Stage::kEnded) {
    return absl::FailedPreconditionError("the job has ended");
  }
  PACELINE_ASSIGN_OR_RETURN(
      const Member member,
      roster_.Register(hello, std::move(peer), clock_->Now()));
  v1::WorkerCommand command;
  v1::Assignment& assign = *command.mutable_assign();
  assign.set_incarnation(member.incarnation);
  assign.set_run(setup_.run);
  *assign.mutable_job() = setup_.spec;
  assign.set_job_name(setup_.job_name);
  assign.set_traceparent(setup_.traceparent);
  assign.set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(lease())));
  roster_.Send(member.id, std::move(command));
  LogInfo("assigned", {{"worker", member.name}, {"job", setup_.job_name}});
  return member.id;
}

absl::Status JobRun::WorkerSaid(WorkerId worker,
                                const v1::WorkerMessage& message) {
  roster_.Heard(worker, clock_->Now());
  if (Engine* const engine = this->engine()) engine->Heard(worker);
  switch (message.kind_case()) {
    case v1::WorkerMessage::kHeartbeat:
      return absl::OkStatus();
    case v1::WorkerMessage::kReady: {
      const absl::Status fits = WorkerReady(worker, message.ready());
      if (absl::IsFailedPrecondition(fits)) TellUnfit(worker, fits);
      return fits;
    }
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
      WorkerFailed(worker, FromCode(message.failed().code(),
                                    message.failed().message()));
      return absl::OkStatus();
    case v1::WorkerMessage::kHello:
    case v1::WorkerMessage::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("that message is not expected here");
}

void JobRun::TellUnfit(WorkerId worker, const absl::Status& why) {
  const std::optional<Member> member = roster_.Find(worker);
  if (!member.has_value()) return;
  Tell(member->name, "loss",
       absl::StrCat("cannot take part: ", why.ToString()));
  absl::MutexLock lock(&mu_);
  if (unfit_.ok() && !member->evaluator) unfit_ = Annotate(why, member->name);
}

void JobRun::WorkerFailed(WorkerId worker, const absl::Status& why) {
  TellUnfit(worker, why);
  const std::optional<Member> member = roster_.Find(worker);
  WorkerGone(worker, LossReason::kFailed);
  if (!member.has_value() || !Trains(*member)) return;
  // The machine's own trouble: another may do what it could not.
  if (absl::IsInternal(why) || absl::IsUnavailable(why)) return;
  absl::MutexLock lock(&mu_);
  last_failure_ = Annotate(why, member->name);
}

absl::Status JobRun::LastFailure() const {
  const std::vector<Member> present = roster_.Present();
  // Who still loads may have what the others lacked.
  if (std::any_of(present.begin(), present.end(), IsTrainer)) {
    return absl::OkStatus();
  }
  absl::MutexLock lock(&mu_);
  return last_failure_;
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
    metrics_->workers_joined->Increment();
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
  {
    absl::MutexLock lock(&mu_);
    if (trace_ != nullptr) trace_->Write(name, report);
  }
  metrics_->gate_wait_seconds->Observe(report.seconds().wait());
  metrics_->blocks_refused->Increment(report.blocks_refused());
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
  if (evaluated.code() != 0) {
    // Not checked against the task in hand: that may have been dropped just
    // now, for the same reason.
    DropEvaluation(evaluated.snapshot(), roster_.NameOf(worker),
                   FromCode(evaluated.code(), evaluated.message()));
    return absl::OkStatus();
  }
  PACELINE_ASSIGN_OR_RETURN(
      const AccuracyPoint point,
      evaluations_.Done(worker, evaluated.snapshot(), evaluated.accuracy(),
                        evaluated.loss(), record_));
  v1::ServerCommand release;
  release.mutable_release_snapshot()->set_snapshot(evaluated.snapshot());
  servers_.Broadcast(std::move(release));
  v1::AccuracyPoint told;
  told.set_seconds(point.seconds);
  told.set_version(point.version);
  told.set_version_at_completion(point.version_at_completion);
  told.set_samples(point.samples);
  told.set_accuracy(point.accuracy);
  told.set_loss(point.loss);
  observer_->Evaluated(told);
  if (record_.StopReached()) engine()->Seal();
  return absl::OkStatus();
}

void JobRun::DropEvaluation(int64_t snapshot, const std::string& who,
                            const absl::Status& why) {
  const std::vector<int64_t> dropped =
      evaluations_.Drop(snapshot, absl::IsResourceExhausted(why));
  if (dropped.empty()) return;
  for (const int64_t released : dropped) {
    v1::ServerCommand release;
    release.mutable_release_snapshot()->set_snapshot(released);
    servers_.Broadcast(std::move(release));
  }
  std::string text = absl::StrCat(
      "snapshot ", snapshot, " is not evaluated: ", who, ": ", why.message());
  if (dropped.size() > 1) {
    absl::StrAppend(&text, "; ", dropped.size() - 1,
                    " others give way, and one in ", evaluations_.stride(),
                    " is taken from now on");
  }
  Tell("job", "evaluation", text);
}

void JobRun::Tell(const std::string& whom, const std::string& kind,
                  const std::string& text) {
  LogWarning(text, {{"job", setup_.job_name}, {"worker", whom}});
  v1::Decision decision;
  decision.set_seconds(record_.SecondsAt(clock_->Now()));
  decision.set_worker(whom);
  decision.set_kind(kind);
  decision.set_text(text);
  observer_->Decided(decision);
}

bool JobRun::Trains(const Member& member) const {
  return engine() != nullptr && !member.evaluator &&
         member.state == MemberState::kWorking;
}

void JobRun::WorkerGone(WorkerId worker, LossReason reason) {
  const std::optional<Member> member = roster_.Find(worker);
  if (!member.has_value()) return;
  Engine* const engine = this->engine();
  const bool trains = Trains(*member);
  if (trains) {
    absl::MutexLock lock(&mu_);
    last_failure_ = absl::OkStatus();
  }
  // Who leaves the training politely is let go by the engine's eviction, which
  // needs it to be there still.
  if (reason == LossReason::kDeparted && !trains) {
    roster_.Close(worker, absl::OkStatus());
  }
  if ((reason != LossReason::kDeparted || !trains) && !roster_.Gone(worker)) {
    return;
  }
  if (member->evaluator) {
    const auto dropped =
        evaluations_.EvaluatorLeft(worker, reason != LossReason::kDeparted);
    if (dropped.has_value()) {
      DropEvaluation(*dropped, member->name,
                     absl::AbortedError("no evaluator survives it"));
    }
  } else if (engine != nullptr) {
    engine->Leave(worker, reason);
  }
}

void JobRun::ReleaseWorker(WorkerId worker, absl::string_view reason) {
  v1::WorkerCommand command;
  command.mutable_stop()->set_reason(std::string(reason));
  roster_.Send(worker, std::move(command));
}

absl::Status JobRun::ServerSaid(uint64_t member,
                                const v1::ServerMessage& message) {
  const std::optional<int> server = servers_.IndexOf(member);
  if (!server.has_value()) {
    return absl::InvalidArgumentError("the server is none of this run");
  }
  switch (message.kind_case()) {
    case v1::ServerMessage::kDone:
      CommandDone(*server, message.done());
      return absl::OkStatus();
    case v1::ServerMessage::kCheckpointWritten:
      checkpoint_.Written(*server, message.checkpoint_written());
      return absl::OkStatus();
    case v1::ServerMessage::kFailed:
      ServerLost(*server, Annotate(FromCode(message.failed().code(),
                                            message.failed().message()),
                                   servers_.NameOf(*server)));
      return absl::OkStatus();
    default:
      break;
  }
  return absl::InvalidArgumentError("that message is not expected here");
}

void JobRun::CommandDone(int server, const v1::CommandDone& done) {
  servers_.Done(server, done.sequence());
  Engine* const engine = this->engine();
  if (engine == nullptr) return;
  checkpoint_.CommandDone(done.sequence(), engine->View().version);
  if (done.has_fence()) {
    const std::optional<WorkerId> worker = sink_.FencedBy(done.sequence());
    if (!worker.has_value()) return;
    engine->FenceAnswered(
        *worker, {server, done.fence().iteration(), done.fence().blocks_taken(),
                  done.fence().blocks(), done.fence().samples()});
  }
  const std::optional<int64_t> snapshot = sink_.SnapshotOf(done.sequence());
  if (!snapshot.has_value()) return;
  if (done.code() != 0) {
    DropEvaluation(*snapshot, servers_.NameOf(server),
                   FromCode(done.code(), done.message()));
  } else if (servers_.AllDone(done.sequence())) {
    evaluations_.Completed(*snapshot, engine->View().version);
  }
}

void JobRun::ServerGone(uint64_t member) {
  const std::optional<int> server = servers_.IndexOf(member);
  if (!server.has_value()) return;
  ServerLost(*server,
             absl::UnavailableError(absl::StrCat(
                 "parameter server ", servers_.NameOf(*server),
                 " is gone, and its part of the model is lost: restore the job "
                 "from its last checkpoint")));
}

void JobRun::ServerLeaves(uint64_t member) {
  const std::optional<int> server = servers_.IndexOf(member);
  if (!server.has_value()) return;
  absl::MutexLock lock(&mu_);
  leaving_servers_.insert(*server);
}

void JobRun::ServerLost(int server, const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  if (stage_ == Stage::kEnded) return;
  if (stage_ == Stage::kEvaluating) {
    // The result is saved, or was never to be.
    server_lost_ = servers_.NameOf(server);
  } else if (failure_.ok()) {
    failure_ = why;
    // One that goes without a word may do so because of this very job.
    out_of_servers_ =
        stage_ != Stage::kTraining && leaving_servers_.contains(server);
  }
}

}  // namespace paceline
