#include "services/worker/control_stream.h"

#include <utility>

#include "common/rpc/channel.h"

namespace paceline {
namespace {

constexpr size_t kMaxQueued = 10'000;

}  // namespace

ControlStream::ControlStream(const std::string& coordinator,
                             const std::string& name, bool evaluator)
    : last_heard_(clock_.Now()),
      channel_(MakeChannel(coordinator, ChannelProfile::kControl,
                           absl::Seconds(10))),
      stub_(v1::Fleet::NewStub(channel_)) {
  stream_ = std::make_unique<Stream>(
      kMaxQueued,
      Stream::Handlers{
          [this](v1::WorkerCommand& command) {
            {
              absl::MutexLock lock(&mu_);
              last_heard_ = clock_.Now();
            }
            if (!command.has_heartbeat()) {
              commands_.Put(std::move(command));
            }
            return absl::OkStatus();
          },
          [this](const absl::Status& status) { commands_.Close(status); }},
      [this](grpc::ClientContext* context, auto* reactor) {
        stub_->async()->Worker(context, reactor);
      });
  v1::WorkerMessage hello;
  hello.mutable_hello()->set_name(name);
  hello.mutable_hello()->set_evaluator(evaluator);
  Send(std::move(hello));
  heartbeats_ = std::thread([this] { KeepLease(); });
}

ControlStream::~ControlStream() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  heartbeats_.join();
}

absl::StatusOr<v1::WorkerCommand> ControlStream::Next(absl::Duration timeout) {
  return commands_.Take(timeout);
}

bool ControlStream::SleepUntil(absl::Time until) {
  const absl::Duration left = until - clock_.Now();
  return left <= absl::ZeroDuration() ? !Interrupted() : !commands_.Await(left);
}

void ControlStream::Finish() {
  stream_->FinishWrites();
  absl::Duration lease;
  {
    absl::MutexLock lock(&mu_);
    lease = lease_;
  }
  const absl::Time deadline = clock_.Now() + lease;
  while (!commands_.closed() && clock_.Now() < deadline) {
    const auto late = commands_.Take(deadline - clock_.Now());
    if (!late.ok()) break;
  }
}

void ControlStream::SetLease(absl::Duration lease) {
  absl::MutexLock lock(&mu_);
  lease_ = lease;
  lease_changed_ = true;
}

void ControlStream::KeepLease() {
  const auto woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ending_ || lease_changed_;
  };
  absl::MutexLock lock(&mu_);
  while (!ending_) {
    mu_.AwaitWithTimeout(absl::Condition(&woken), lease_ / 3);
    lease_changed_ = false;
    if (clock_.Now() - last_heard_ > 2 * lease_) {
      commands_.Close(absl::UnavailableError(
          "the coordinator was not heard for two leases"));
      stream_->Cancel();
      return;
    }
    v1::WorkerMessage message;
    message.mutable_heartbeat();
    stream_->Send(std::move(message));
  }
}

}  // namespace paceline
