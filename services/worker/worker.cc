#include "services/worker/worker.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/rng.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "common/trace_context.h"
#include "gpu/gpu_device.h"
#include "services/worker/evaluator.h"
#include "services/worker/trainer.h"

namespace paceline {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(100);
constexpr absl::Duration kRegisterTimeout = absl::Seconds(10);

// Between two attempts to register. A session that lived for a while was none
// of a row of failures.
constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(2);
constexpr absl::Duration kLivedLong = absl::Seconds(10);

// Tasks kept in memory. Evaluators rotate between jobs.
constexpr size_t kTrainerTasks = 1;
constexpr size_t kEvaluatorTasks = 3;

// FNV-1a: names must give the same seed everywhere.
uint64_t SeedOf(const std::string& name) {
  uint64_t hash = 14695981039346656037u;
  for (const unsigned char c : name) hash = (hash ^ c) * 1099511628211u;
  return hash;
}

// What another attempt to register would come to as well.
bool Refused(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
}

bool IsStop(const v1::WorkerCommand& command) { return command.has_stop(); }

void SendLeaving(ControlStream& control, bool process) {
  v1::WorkerMessage message;
  message.mutable_leaving()->set_process(process);
  control.Send(std::move(message));
}

void SendFailed(ControlStream& control, const absl::Status& status) {
  v1::WorkerMessage message;
  message.mutable_failed()->set_code(static_cast<int>(status.code()));
  message.mutable_failed()->set_message(std::string(status.message()));
  control.Send(std::move(message));
}

WorkerMetrics::AssignmentOutcome Fail(ControlStream& control,
                                      const absl::Status& status) {
  LogWarning("cannot take part", {{"reason", Summary(status)}});
  SendFailed(control, status);
  return WorkerMetrics::AssignmentOutcome::kFailed;
}

void SendGivingUp(ControlStream& control, const absl::Status& status) {
  v1::WorkerMessage message;
  message.mutable_giving_up()->set_code(static_cast<int>(status.code()));
  message.mutable_giving_up()->set_message(std::string(status.message()));
  control.Send(std::move(message));
}

}  // namespace

Worker::Worker(const Options& options, WorkerMetrics* metrics)
    : options_(options),
      metrics_(metrics),
      tasks_(options.hello.evaluator() ? kEvaluatorTasks : kTrainerTasks,
             options.hello.evaluator(), options.host) {}

absl::Status Worker::Run() {
  const Clock& clock = Clock::Real();
  absl::Time last_registered = clock.Now();
  absl::Duration pause = kFirstPause;
  while (true) {
    const absl::Time began = clock.Now();
    const absl::Status ended = RunSession();
    if (leaving()) return absl::OkStatus();
    PACELINE_RETURN_IF_ERROR(device_lost_);
    const absl::Time now = clock.Now();
    if (registered_) {
      last_registered = now;
      if (now - began >= kLivedLong) pause = kFirstPause;
    } else if (Refused(ended) || (options_.patience > absl::ZeroDuration() &&
                                  now - last_registered >= options_.patience)) {
      return ended;
    }
    // Renewed credentials take their time.
    if (absl::IsUnauthenticated(ended) || absl::IsPermissionDenied(ended)) {
      pause = kLongestPause;
    }
    LogWarning("registering anew", {{"name", options_.hello.name()},
                                    {"reason", Summary(ended)},
                                    {"pause", absl::FormatDuration(pause)}});
    if (!Sleep(pause)) return absl::OkStatus();
    pause = std::min(2 * pause, kLongestPause);
  }
}

absl::Status Worker::RunSession() {
  registered_ = false;
  unacknowledged_ = false;
  const absl::Duration orphan =
      options_.patience > absl::ZeroDuration()
          ? std::min(options_.patience, options_.orphan)
          : options_.orphan;
  v1::WorkerHello hello = options_.hello;
  NameFormats(hello);
  ControlStream control(
      addresses_, std::move(hello), options_.dial, orphan,
      [this](const absl::Status& link) { TellRegistration(link); }, term_,
      options_.tell_log);
  if (options_.source != nullptr) {
    control.WhenHeard([source = options_.source] { source->Wake(); });
  }
  Attach(&control);
  absl::Status ended = Register(control);
  if (ended.ok()) {
    registered_ = true;
    TellRegistration(absl::OkStatus());
    ended = TakeAssignments(control);
  }
  Attach(nullptr);
  TellRegistration(ended);
  if (!registered_) return ended;
  if (leaving()) {
    // If the servers may have taken a push or not, the end without `leaving`
    // tells the coordinator to ask them.
    if (!unacknowledged_) SendLeaving(control, /*process=*/true);
  } else if (device_lost_.ok() && !control.ended()) {
    SendGivingUp(control, ended);
  }
  control.Finish();
  TellRegistration(ended);  // A link may have come back meanwhile.
  return ended;
}

absl::Status Worker::Register(ControlStream& control) {
  const absl::Time deadline = Clock::Real().Now() + kRegisterTimeout;
  while (!leaving() && Clock::Real().Now() < deadline) {
    const auto command = control.Next(kTurn);
    if (absl::IsDeadlineExceeded(command.status())) continue;
    PACELINE_RETURN_IF_ERROR(command.status());
    if (!command->has_registered() || command->registered().lease_ms() == 0) {
      return absl::InternalError(
          "the coordinator did not begin with `registered` and a lease");
    }
    control.SetLease(absl::Milliseconds(command->registered().lease_ms()));
    LogInfo("registered", {{"name", options_.hello.name()}});
    return absl::OkStatus();
  }
  return absl::UnavailableError("the coordinator did not answer `hello`");
}

absl::Status Worker::TakeAssignments(ControlStream& control) {
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const v1::WorkerCommand command,
                              NextCommand(control));
    // Anything else is late: of an assignment that has ended by `failed`.
    if (command.has_assign()) {
      PACELINE_RETURN_IF_ERROR(RunAssignment(control, command.assign()));
      PACELINE_RETURN_IF_ERROR(device_lost_);
    }
  }
}

absl::Status Worker::RunAssignment(ControlStream& control,
                                   const v1::Assignment& assignment) {
  LogInfo("assigned", {{"name", options_.hello.name()},
                       {"job", assignment.job_name()},
                       {"trace_id", TraceIdOf(assignment.traceparent())}});
  metrics_->AssignmentBegan();
  stop_.set_reason("the worker's part in the job has ended");
  stop_.set_code(0);
  const absl::StatusOr<Outcome> outcome = TakePart(control, assignment);
  if (!outcome.ok()) {
    metrics_->AssignmentEnded(leaving() ? Outcome::kLeft : Outcome::kBroken);
  } else {
    if (*outcome == Outcome::kStopped) SendLeaving(control, /*process=*/false);
    metrics_->AssignmentEnded(*outcome);
  }
  if (options_.source != nullptr) {
    // After `leaving`: nobody waits for that.
    foreign_task_.reset();
    if (!outcome.ok()) {
      stop_.set_reason(std::string(outcome.status().message()));
    }
    options_.source->End(stop_, [this] { return dropped_.load(); });
  }
  return outcome.status();
}

absl::StatusOr<Task*> Worker::Prepare(ControlStream& control,
                                      const v1::Assignment& assignment) {
  if (options_.source == nullptr) return tasks_.Get(assignment);
  PACELINE_ASSIGN_OR_RETURN(const DType wire,
                            FromWire(assignment.job().wire()));
  PACELINE_ASSIGN_OR_RETURN(
      auto computation,
      options_.source->Prepare(assignment, HeldAs(wire), [this, &control] {
        return leaving() || control.stopping();
      }));
  foreign_task_ =
      std::make_unique<Task>(assignment, wire, std::move(computation));
  return foreign_task_.get();
}

absl::StatusOr<Worker::Outcome> Worker::TakePart(
    ControlStream& control, const v1::Assignment& assignment) {
  v1::Assignment complete = assignment;
  if (complete.lease_ms() == 0) {
    complete.set_lease_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(control.lease())));
  }
  const absl::StatusOr<Task*> prepared = Prepare(control, complete);
  if (const auto command = control.TakeIf(IsStop)) {
    return Stopped(command->stop());
  }
  if (leaving()) return absl::CancelledError("told to leave");
  if (absl::IsCancelled(prepared.status())) return prepared.status();
  if (!prepared.ok()) {
    if (options_.source == nullptr &&
        !absl::IsResourceExhausted(prepared.status())) {
      device_lost_ = CheckDevice();
    }
    return Fail(control, prepared.status());
  }
  Task& task = **prepared;
  v1::WorkerMessage ready;
  *ready.mutable_ready() = task.computation().Ready();
  control.Send(std::move(ready));

  PACELINE_ASSIGN_OR_RETURN(v1::WorkerCommand command, NextCommand(control));
  while (!command.has_begin()) {
    if (command.has_stop()) return Stopped(command.stop());
    PACELINE_ASSIGN_OR_RETURN(command, NextCommand(control));
  }
  const auto parameters = ParameterClient::Connect(
      command.begin(), task.computation().Arrays(),
      {task.incarnation(), task.wire(), task.lease(), task.run(), options_.dial,
       [&] { return leaving() || control.stopping(); },
       [this] { metrics_->Redialled(); },
       [&control](v1::ShardFilled filled) {
         v1::WorkerMessage message;
         *message.mutable_shard_filled() = std::move(filled);
         control.Send(std::move(message));
       }});
  if (!parameters.ok()) return Fail(control, parameters.status());
  const absl::Status ended =
      Begin(control, command.begin(), **parameters, task);
  if (!task.computation().broken().ok()) {
    // A program that dies after the last word of its assignment is no loss.
    const bool late = options_.source != nullptr && ended.ok();
    if (!late) return GiveUp(control, task);
  }
  PACELINE_RETURN_IF_ERROR(ended);
  return Outcome::kStopped;
}

Worker::Outcome Worker::GiveUp(ControlStream& control, Task& task) {
  const absl::Status broken = task.computation().broken();
  if (options_.source == nullptr) {
    tasks_.Forget(&task);
    // Without memory it can do another job. Otherwise a GPU is lost to its
    // whole process.
    if (!absl::IsResourceExhausted(broken)) device_lost_ = broken;
  }
  unacknowledged_ = false;  // `failed` says as much.
  return Fail(control, broken);
}

absl::Status Worker::CheckDevice() const {
  if (options_.host.device != "cuda") return absl::OkStatus();
  for (const int gpu : options_.host.devices) {
    PACELINE_RETURN_IF_ERROR(FindGpu(gpu).status());
  }
  return absl::OkStatus();
}

absl::Status Worker::Begin(ControlStream& control, const v1::BeginJob& begin,
                           ParameterClient& parameters, Task& task) {
  control.WhenStopping([this, &control, &parameters] {
    if (dropped_) return parameters.Abort();
    // An evaluator that is told to stop finishes what it has in hand.
    if (options_.hello.evaluator() && !control.ended()) return;
    parameters.EndPulls();
  });
  control.WhenBeating([&parameters] { return parameters.waiting(); });
  control.WhenRewired(
      [&parameters](const v1::Rewire& rewire) { parameters.Rewire(rewire); });
  absl::Status status = task.computation().Begin(begin.initialize());
  if (status.ok() && begin.initialize()) {
    status = parameters.SetAll();
    if (status.ok()) {
      v1::WorkerMessage message;
      message.mutable_initialized();
      control.Send(std::move(message));
    }
  }
  if (status.ok() || control.stopping()) {
    status = FollowCommands(control, task, parameters);
  }
  control.WhenRewired({});
  control.WhenBeating({});
  control.WhenStopping({});
  return status;
}

absl::Status Worker::FollowCommands(ControlStream& control, Task& task,
                                    ParameterClient& parameters) {
  Trainer trainer(&task, &parameters, &control, options_.pace,
                  DeriveSeed(task.job().seed(), SeedOf(options_.hello.name())),
                  metrics_, options_.turns);
  Evaluator evaluator(&task.computation(), &parameters, &control);
  control.WhenGranted(
      [&trainer](const v1::Grant& grant) { trainer.OrderEarly(grant); });
  const absl::Cleanup no_trainer = [&control] { control.WhenGranted({}); };
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const v1::WorkerCommand command,
                              NextCommand(control));
    if (command.has_stop()) {
      Stopped(command.stop());
      return absl::OkStatus();
    }
    if (command.has_assign()) {
      return absl::InternalError("assigned to a job while it has one");
    }
    absl::Status done;
    if (command.has_grant()) done = trainer.Run(command.grant());
    if (command.has_evaluate()) done = evaluator.Run(command.evaluate());
    if (command.has_drop_reserved()) trainer.DropReserved();
    unacknowledged_ = trainer.unacknowledged();
    // When everything ends at once the servers may be gone before the
    // coordinator's word comes: its word counts. But `leaving` would say that
    // all pushes are acknowledged.
    if (!done.ok() && (unacknowledged_ || !control.stopping())) return done;
  }
}

Worker::Outcome Worker::Stopped(const v1::Stop& stop) {
  stop_ = stop;
  if (stop.code() == 0) {
    LogInfo("told to stop",
            {{"name", options_.hello.name()}, {"reason", stop.reason()}});
  } else {
    LogWarning("told to stop",
               {{"name", options_.hello.name()}, {"reason", stop.reason()}});
  }
  return Outcome::kStopped;
}

absl::StatusOr<v1::WorkerCommand> Worker::NextCommand(ControlStream& control) {
  while (!leaving()) {
    absl::StatusOr<v1::WorkerCommand> command = control.Next(kTurn);
    if (!absl::IsDeadlineExceeded(command.status())) return command;
  }
  return absl::CancelledError("told to leave");
}

void Worker::TellRegistration(const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  if (!leaving_) options_.registration(status);
}

void Worker::BeginToLeave() {
  if (leaving_) return;
  leaving_ = true;
  options_.registration(absl::UnavailableError("the worker is stopping"));
}

void Worker::Leave() {
  absl::MutexLock lock(&mu_);
  BeginToLeave();
}

void Worker::Drop() {
  absl::MutexLock lock(&mu_);
  BeginToLeave();
  dropped_ = true;
  if (control_ != nullptr) control_->Interrupt();
}

void Worker::Attach(ControlStream* control) {
  absl::MutexLock lock(&mu_);
  control_ = control;
  if (control_ != nullptr && dropped_) control_->Interrupt();
}

bool Worker::leaving() {
  absl::MutexLock lock(&mu_);
  return leaving_;
}

bool Worker::Sleep(absl::Duration time) {
  absl::MutexLock lock(&mu_);
  return !mu_.AwaitWithTimeout(absl::Condition(&leaving_), time);
}

}  // namespace paceline
