#include "services/worker/control_stream.h"

#include <utility>

namespace paceline {
namespace {

constexpr size_t kMaxQueued = 10'000;
// Commands that wait for this worker. More of them wait at the coordinator.
constexpr size_t kMaxUnread = 1'000;

}  // namespace

ControlStream::ControlStream(const std::string& coordinator,
                             v1::WorkerHello hello, const Dial& dial)
    : commands_(kMaxUnread),
      channel_(dial(coordinator, ChannelProfile::kControl, kDefaultLease)),
      stub_(v1::Fleet::NewStub(channel_)) {
  stream_ = std::make_unique<Stream>(
      kMaxQueued,
      Stream::Handlers{.on_message =
                           [this](v1::WorkerCommand& command) {
                             OnMessage(command);
                             return absl::OkStatus();
                           },
                       .on_disconnected =
                           [this](const absl::Status& status) {
                             Close(status);
                             ended_.Notify();
                           },
                       .may_read = [this] { return !commands_.full(); }},
      [this](grpc::ClientContext* context, auto* reactor) {
        stub_->async()->Worker(context, reactor);
      });
  v1::WorkerMessage message;
  *message.mutable_hello() = std::move(hello);
  Send(std::move(message));
  lease_.Start(
      [this] {
        // While nothing is read, hearing nothing says nothing of the peer.
        if (commands_.full()) lease_.Heard();
        v1::WorkerMessage heartbeat;
        heartbeat.mutable_heartbeat();
        Send(std::move(heartbeat));
      },
      [this] {
        Close(absl::UnavailableError(
            "the coordinator was not heard for two leases"));
        stream_->Cancel();
      });
}

ControlStream::~ControlStream() { lease_.Stop(); }

void ControlStream::OnMessage(v1::WorkerCommand& command) {
  lease_.Heard();
  if (command.has_heartbeat()) return;
  const bool stop = command.has_stop();
  if (stop) {
    absl::MutexLock lock(&stop_mu_);
    ++stops_;
  }
  commands_.Put(std::move(command));
  CallHeard();
  if (stop) CallStopping();
}

void ControlStream::Close(const absl::Status& status) {
  commands_.Close(status);
  CallHeard();
  CallStopping();
}

absl::StatusOr<v1::WorkerCommand> ControlStream::Next(absl::Duration timeout) {
  absl::StatusOr<v1::WorkerCommand> command = commands_.Take(timeout);
  if (command.ok()) OnTaken(*command);
  return command;
}

std::optional<v1::WorkerCommand> ControlStream::TakeIf(
    bool (*wanted)(const v1::WorkerCommand&)) {
  std::optional<v1::WorkerCommand> command = commands_.TakeIf(wanted);
  if (command.has_value()) OnTaken(*command);
  return command;
}

void ControlStream::OnTaken(const v1::WorkerCommand& command) {
  stream_->ReadOn();
  if (!command.has_stop()) return;
  absl::MutexLock lock(&stop_mu_);
  --stops_;
}

bool ControlStream::SleepUntil(absl::Time until) {
  const absl::Duration left = until - clock_.Now();
  return left <= absl::ZeroDuration() ? !Interrupted() : !commands_.Await(left);
}

void ControlStream::WhenStopping(std::function<void()> stopping) {
  absl::MutexLock lock(&stop_mu_);
  when_stopping_ = std::move(stopping);
  if (when_stopping_ && StoppingLocked()) when_stopping_();
}

void ControlStream::WhenHeard(std::function<void()> heard) {
  absl::MutexLock lock(&heard_mu_);
  when_heard_ = std::move(heard);
}

void ControlStream::CallHeard() {
  absl::MutexLock lock(&heard_mu_);
  if (when_heard_) when_heard_();
}

bool ControlStream::stopping() {
  absl::MutexLock lock(&stop_mu_);
  return StoppingLocked();
}

void ControlStream::CallStopping() {
  absl::MutexLock lock(&stop_mu_);
  if (when_stopping_) when_stopping_();
}

void ControlStream::Interrupt() {
  Close(absl::CancelledError("the worker was told to go"));
  stream_->ReadOn();
}

void ControlStream::Finish() {
  stream_->FinishWrites();
  // Commands that still come are dropped, or the end behind them would wait.
  Interrupt();
  ended_.WaitForNotificationWithTimeout(lease());
}

}  // namespace paceline
