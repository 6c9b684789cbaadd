#include "services/worker/worker.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/time/clock.h"
#include "common/log/log.h"
#include "common/rng.h"
#include "common/status.h"
#include "services/worker/evaluator.h"
#include "services/worker/trainer.h"

namespace paceline {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(100);
constexpr absl::Duration kWelcomeTimeout = absl::Seconds(10);

// How long a worker that was never welcome, or no more, keeps trying.
constexpr absl::Duration kPatience = absl::Seconds(30);

// FNV-1a: names must give the same seed everywhere.
uint64_t SeedOf(const std::string& name) {
  uint64_t hash = 14695981039346656037u;
  for (const unsigned char c : name) hash = (hash ^ c) * 1099511628211u;
  return hash;
}

bool WorthAnotherTry(const absl::Status& status) {
  return absl::IsAborted(status) || absl::IsUnavailable(status) ||
         absl::IsCancelled(status);
}

}  // namespace

absl::Status Worker::Run() {
  const Clock& clock = Clock::Real();
  absl::Time give_up = clock.Now() + kPatience;
  absl::Duration pause = kTurn;
  while (true) {
    registered_ = false;
    const absl::Status ended = RunIncarnation();
    if (ended.ok() || leaving_ || !WorthAnotherTry(ended)) return ended;
    if (registered_) {
      give_up = clock.Now() + kPatience;
      pause = kTurn;
    }
    if (clock.Now() > give_up) return ended;
    LogWarning("registering anew", {{"reason", std::string(ended.message())}});
    absl::SleepFor(pause);
    pause = std::min(2 * pause, absl::Seconds(2));
  }
}

absl::Status Worker::RunIncarnation() {
  ControlStream control(options_.coordinator, options_.name,
                        options_.evaluator);
  v1::WorkerWelcome welcome;
  PACELINE_RETURN_IF_ERROR(Register(control, welcome));
  const absl::Duration lease = absl::Milliseconds(welcome.job().lease_ms());
  control.SetLease(lease);
  registered_ = true;
  const absl::Status prepared = Prepare(control, welcome.job());
  if (!prepared.ok()) return prepared;
  PACELINE_ASSIGN_OR_RETURN(const v1::BeginJob begin, AwaitBegin(control));
  if (begin.shards().empty()) return absl::OkStatus();  // Stopped before.
  PACELINE_ASSIGN_OR_RETURN(
      const auto parameters,
      ParameterClient::Connect(begin, task_->Arrays(),
                               {welcome.incarnation(), task_->wire(), lease}));
  if (begin.initialize()) {
    // A worker of an earlier incarnation has computed on these arrays.
    PACELINE_RETURN_IF_ERROR(task_->model().Initialize(task_->job().seed()));
    PACELINE_RETURN_IF_ERROR(parameters->SetAll());
    v1::WorkerMessage message;
    message.mutable_initialized();
    control.Send(std::move(message));
  }
  return FollowCommands(control, *parameters);
}

absl::Status Worker::Register(ControlStream& control,
                              v1::WorkerWelcome& welcome) {
  PACELINE_ASSIGN_OR_RETURN(const v1::WorkerCommand command,
                            control.Next(kWelcomeTimeout));
  if (!command.has_welcome()) {
    return absl::InternalError("the coordinator did not begin with `welcome`");
  }
  welcome = command.welcome();
  return absl::OkStatus();
}

absl::Status Worker::Prepare(ControlStream& control, const v1::JobSpec& job) {
  absl::Status status;
  if (task_ == nullptr ||
      task_->job().SerializeAsString() != job.SerializeAsString()) {
    auto task = Task::Prepare(job, options_.evaluator, options_.backend);
    status = task.status();
    if (task.ok()) task_ = *std::move(task);
  }
  v1::WorkerMessage message;
  if (status.ok()) {
    *message.mutable_ready() = task_->Ready(options_.evaluator);
    control.Send(std::move(message));
  } else {
    message.mutable_failed()->set_code(static_cast<int>(status.code()));
    message.mutable_failed()->set_message(std::string(status.message()));
    control.Send(std::move(message));
    control.Finish();
  }
  return status;
}

absl::StatusOr<v1::BeginJob> Worker::AwaitBegin(ControlStream& control) {
  PACELINE_ASSIGN_OR_RETURN(const v1::WorkerCommand command,
                            NextCommand(control));
  if (command.has_stop()) return v1::BeginJob();
  if (!command.has_begin()) {
    return absl::InternalError("the coordinator did not send `begin`");
  }
  return command.begin();
}

absl::Status Worker::FollowCommands(ControlStream& control,
                                    ParameterClient& parameters) {
  Trainer trainer(task_.get(), &parameters, &control, options_.pace,
                  DeriveSeed(task_->job().seed(), SeedOf(options_.name)),
                  metrics_);
  Evaluator evaluator(task_.get(), &parameters, &control);
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const v1::WorkerCommand command,
                              NextCommand(control));
    if (command.has_stop()) {
      LogInfo("told to stop", {{"reason", command.stop().reason()}});
      control.Finish();
      return absl::OkStatus();
    }
    absl::Status done;
    if (command.has_grant()) done = trainer.Run(command.grant());
    if (command.has_evaluate()) done = evaluator.Run(command.evaluate());
    // When everything ends at once the servers may be gone before the
    // coordinator's word comes: its word counts.
    if (!done.ok() && !control.Interrupted()) return done;
  }
}

absl::StatusOr<v1::WorkerCommand> Worker::NextCommand(ControlStream& control) {
  while (true) {
    absl::StatusOr<v1::WorkerCommand> command = control.Next(kTurn);
    if (leaving_) {
      v1::WorkerMessage message;
      message.mutable_leaving();
      control.Send(std::move(message));
      v1::WorkerCommand stop;
      stop.mutable_stop()->set_reason("told to leave");
      return stop;
    }
    if (!absl::IsDeadlineExceeded(command.status())) return command;
  }
}

}  // namespace paceline
