#include "services/worker/control_stream.h"

#include <utility>

namespace paceline {
namespace {

// Commands that wait for this worker. More of them wait at the coordinator.
constexpr size_t kMaxUnread = 1'000;

v1::WorkerMessage ToMessage(v1::WorkerHello hello) {
  v1::WorkerMessage message;
  *message.mutable_hello() = std::move(hello);
  return message;
}

}  // namespace

ControlStream::ControlStream(std::shared_ptr<CoordinatorAddresses> coordinators,
                             v1::WorkerHello hello, const Dial& dial,
                             absl::Duration orphan,
                             std::function<void(const absl::Status&)> on_link,
                             std::shared_ptr<KnownTerm> term,
                             LogTeller tell_log)
    : tell_log_(std::move(tell_log)),
      commands_(kMaxUnread),
      session_(
          {.connect =
               [addresses = coordinators, dial](absl::Duration liveness) {
                 return dial(addresses->Next(), ChannelProfile::kControl,
                             liveness);
               },
           .open =
               [](const std::shared_ptr<grpc::Channel>& channel,
                  grpc::ClientContext* context, Session::Reactor* reactor) {
                 v1::Fleet::Stub(channel).async()->Worker(context, reactor);
               },
           .hello = ToMessage(std::move(hello)),
           .lease = kDefaultLease,
           .orphan = orphan,
           .refused = [addresses = coordinators] { addresses->Stay(); },
           .term = std::move(term)},
          {.on_message =
               [this](v1::WorkerCommand& command) { OnMessage(command); },
           .on_over =
               [this](const absl::Status& status) {
                 Close(status);
                 ended_.Notify();
               },
           .may_read = [this] { return !commands_.full(); },
           .on_link = std::move(on_link),
           .on_beat =
               [this](v1::WorkerMessage& message) {
                 FillIn(*message.mutable_heartbeat());
               }}) {}

void ControlStream::OnMessage(v1::WorkerCommand& command) {
  if (command.has_rewire()) return Rewired(command.rewire());
  if (command.has_tell_log()) return TellLog(command.tell_log());
  if (command.has_begin()) {
    // It says where all shards are now.
    absl::MutexLock lock(&rewire_mu_);
    rewires_.clear();
  }
  const bool stop = command.has_stop();
  if (stop) {
    absl::MutexLock lock(&stop_mu_);
    ++stops_;
  }
  Put(std::move(command));
  CallHeard();
  if (stop) CallStopping();
}

void ControlStream::Put(v1::WorkerCommand command) {
  absl::MutexLock lock(&grant_mu_);
  if (std::exchange(awaited_, false) && command.has_grant() && when_granted_) {
    when_granted_(command.grant());
  }
  commands_.Put(std::move(command));
}

void ControlStream::BeginNext() {
  absl::MutexLock lock(&grant_mu_);
  awaited_ = !Interrupted();
}

void ControlStream::EndNext() {
  absl::MutexLock lock(&grant_mu_);
  awaited_ = false;
}

// Here, and not where commands are followed: the worker may compute, or load.
void ControlStream::TellLog(const v1::TellLog& question) {
  if (tell_log_ == nullptr) return;
  v1::WorkerMessage message;
  *message.mutable_log_told() = tell_log_(question);
  Send(std::move(message));
}

void ControlStream::Close(const absl::Status& status) {
  commands_.Close(status);
  CallHeard();
  CallStopping();
}

absl::StatusOr<v1::WorkerCommand> ControlStream::Next(absl::Duration timeout) {
  BeginNext();
  absl::StatusOr<v1::WorkerCommand> command = commands_.Take(timeout);
  EndNext();
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
  session_.ReadOn();
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

void ControlStream::WhenGranted(std::function<void(const v1::Grant&)> granted) {
  absl::MutexLock lock(&grant_mu_);
  when_granted_ = std::move(granted);
}

void ControlStream::WhenRewired(
    std::function<void(const v1::Rewire&)> rewired) {
  absl::MutexLock lock(&rewire_mu_);
  when_rewired_ = std::move(rewired);
  if (!when_rewired_) return;
  for (const v1::Rewire& rewire : rewires_) when_rewired_(rewire);
}

void ControlStream::Rewired(const v1::Rewire& rewire) {
  absl::MutexLock lock(&rewire_mu_);
  rewires_.push_back(rewire);
  if (when_rewired_) when_rewired_(rewire);
}

void ControlStream::WhenBeating(std::function<bool()> waits_for_servers) {
  absl::MutexLock lock(&beat_mu_);
  waits_for_servers_ = std::move(waits_for_servers);
}

void ControlStream::FillIn(v1::Heartbeat& heartbeat) {
  absl::MutexLock lock(&beat_mu_);
  if (waits_for_servers_) {
    heartbeat.set_waits_for_servers(waits_for_servers_());
  }
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
  session_.ReadOn();
}

void ControlStream::Finish() {
  session_.Finish();
  // Commands that still come are dropped, or the end behind them would wait.
  Interrupt();
  ended_.WaitForNotificationWithTimeout(lease());
}

}  // namespace paceline
