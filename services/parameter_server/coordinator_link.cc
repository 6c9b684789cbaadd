#include "services/parameter_server/coordinator_link.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(100);
constexpr absl::Duration kBackoffMin = absl::Milliseconds(100);
constexpr absl::Duration kBackoffMax = absl::Seconds(2);
// For what was answered last to reach the coordinator, in the end.
constexpr absl::Duration kFarewell = absl::Seconds(1);
constexpr size_t kMaxQueued = 10'000;
// Commands that wait for this server. More of them wait at the coordinator.
constexpr size_t kMaxUnread = 1'000;

bool IsRefusal(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status);
}

}  // namespace

CoordinatorLink::CoordinatorLink(
    Options options, CommandRunner* runner,
    std::function<void(absl::Duration lease)> each_turn)
    : options_(std::move(options)),
      runner_(runner),
      each_turn_(std::move(each_turn)),
      backoff_(kBackoffMin) {}

absl::Status CoordinatorLink::Run() {
  while (!stopping()) {
    const absl::Status broken = Serve();
    options_.registration(broken.ok()
                              ? absl::UnavailableError("the server is stopping")
                              : broken);
    runner_->End(broken.ok() ? "the server is stopping"
                             : "the server has lost its coordinator");
    if (broken.ok()) break;
    if (absl::IsInvalidArgument(broken)) {
      return Annotate(broken, "the coordinator does not take this server");
    }
    Pause(broken);
  }
  return absl::OkStatus();
}

void CoordinatorLink::Stop(absl::Duration grace) {
  absl::MutexLock lock(&mu_);
  end_by_ = std::min(end_by_, clock_.Now() + grace);
  // At once, and not a turn later: who follows this server may start meanwhile,
  // and would put it out before the coordinator has heard that it leaves.
  if (inbox_ == nullptr) return;
  v1::ServerCommand nothing;
  nothing.mutable_heartbeat();
  inbox_->Put(std::move(nothing));
}

absl::Status CoordinatorLink::Serve() {
  const std::shared_ptr<grpc::Channel> channel = options_.connect(lease_);
  const auto stub = v1::Fleet::NewStub(channel);
  Inbox inbox(kMaxUnread);
  LeaseKeeper keeper(&clock_, lease_);
  welcomed_ = false;
  told_ = false;
  // Last: its reactions use the above.
  Stream stream(
      kMaxQueued,
      Stream::Handlers{
          .on_message =
              [&](v1::ServerCommand& command) {
                keeper.Heard();
                inbox.Put(std::move(command));
                return absl::OkStatus();
              },
          .on_disconnected =
              [&inbox](const absl::Status& status) { inbox.Close(status); },
          .may_read = [&inbox] { return !inbox.full(); }},
      [&stub](grpc::ClientContext* context, auto* reactor) {
        stub->async()->Server(context, reactor);
      });
  v1::ServerMessage hello;
  hello.mutable_hello()->set_name(options_.name);
  hello.mutable_hello()->set_address(options_.address);
  hello.mutable_hello()->set_version(options_.version);
  hello.mutable_hello()->set_sees_folders(true);
  runner_->Begin([&stream](v1::ServerMessage message) {
    stream.Send(std::move(message));
  });
  stream.Send(std::move(hello));
  keeper.Start(
      [&] {
        // While nothing is read, hearing nothing says nothing of the peer.
        if (inbox.full()) keeper.Heard();
        v1::ServerMessage message;
        message.mutable_heartbeat();
        stream.Send(std::move(message));
      },
      [&inbox] {
        inbox.Close(absl::UnavailableError(
            "the coordinator was not heard for two leases"));
      });
  const auto set_inbox = [this](Inbox* to) {
    absl::MutexLock lock(&mu_);
    inbox_ = to;
  };
  set_inbox(&inbox);
  const absl::Status outcome = Exchange(inbox, stream, keeper);
  set_inbox(nullptr);
  keeper.Stop();
  // Nobody may send to the stream once it is gone.
  runner_->Begin(nullptr);
  return outcome;
}

absl::Status CoordinatorLink::Exchange(Inbox& inbox, Stream& stream,
                                       LeaseKeeper& keeper) {
  while (!ShouldEnd(stream)) {
    absl::StatusOr<v1::ServerCommand> command = inbox.Take(kTurn);
    stream.ReadOn();
    TakeTurn();
    if (command.ok()) {
      Obey(*command, keeper);
    } else if (!absl::IsDeadlineExceeded(command.status()) || inbox.closed()) {
      return Annotate(command.status(), "the coordinator's stream ended");
    }
  }
  stream.FinishWrites();
  const absl::Time deadline = clock_.Now() + kFarewell;
  while (clock_.Now() < deadline && !inbox.closed()) {
    (void)inbox.Take(deadline - clock_.Now());  // What comes, comes too late.
    stream.ReadOn();
  }
  return absl::OkStatus();
}

void CoordinatorLink::Obey(const v1::ServerCommand& command,
                           LeaseKeeper& keeper) {
  switch (command.kind_case()) {
    case v1::ServerCommand::kWelcome:
      lease_ = absl::Milliseconds(std::max(1u, command.welcome().lease_ms()));
      keeper.SetLease(lease_);
      welcomed_ = true;
      if (!stopping()) options_.registration(absl::OkStatus());
      last_fault_.clear();
      LogInfo("registered", {{"lease_ms", command.welcome().lease_ms()}});
      return;
    case v1::ServerCommand::kHeartbeat:
      return;
    default:
      runner_->Run(command);
  }
}

void CoordinatorLink::TakeTurn() {
  const absl::Time now = clock_.Now();
  if (now < next_turn_) return;
  next_turn_ = now + kTurn;
  each_turn_(lease_);
}

bool CoordinatorLink::stopping() const {
  absl::MutexLock lock(&mu_);
  return end_by_ != absl::InfiniteFuture();
}

bool CoordinatorLink::ShouldEnd(Stream& stream) {
  if (!stopping()) return false;
  runner_->Refuse();
  if (!std::exchange(told_, true)) {
    options_.registration(absl::UnavailableError("the server is stopping"));
    v1::ServerMessage message;
    message.mutable_leaving()->set_process(true);
    stream.Send(std::move(message));
  }
  if (runner_->idle()) return true;
  absl::MutexLock lock(&mu_);
  if (clock_.Now() < end_by_) return false;
  LogError(
      "the grace is over, and what is hosted here is not saved: its jobs "
      "go back to their last checkpoints");
  return true;
}

void CoordinatorLink::Pause(const absl::Status& broken) {
  if (welcomed_) backoff_ = kBackoffMin;
  // Keys are not exchanged ten times a second.
  if (IsRefusal(broken)) backoff_ = kBackoffMax;
  const std::string fault(broken.message());
  if (fault != last_fault_) {  // Once, not with every attempt.
    last_fault_ = fault;
    if (IsRefusal(broken)) {
      LogError(absl::StrCat(
          "the coordinator does not let this server in, which tries again: ",
          Summary(broken), "; check its certificate or token, and its role"));
    } else {
      LogWarning("registering again", {{"reason", fault}});
    }
  }
  const absl::Time until = clock_.Now() + backoff_;
  const auto stop_called = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return end_by_ != absl::InfiniteFuture();
  };
  for (absl::Time now = clock_.Now(); now < until; now = clock_.Now()) {
    TakeTurn();
    absl::MutexLock lock(&mu_);
    if (mu_.AwaitWithTimeout(absl::Condition(&stop_called),
                             std::min(until - now, kTurn))) {
      return;
    }
  }
  backoff_ = std::min(2 * backoff_, kBackoffMax);
}

}  // namespace paceline
