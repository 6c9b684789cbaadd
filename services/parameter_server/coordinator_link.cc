#include "services/parameter_server/coordinator_link.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(100);
constexpr absl::Duration kBackoffMin = absl::Milliseconds(100);
constexpr absl::Duration kBackoffMax = absl::Seconds(2);
// For what was answered last to reach the coordinator, in the end.
constexpr absl::Duration kFarewell = absl::Seconds(1);
// Commands that wait for this server. More of them wait at the coordinator.
constexpr size_t kMaxUnread = 1'000;

v1::ServerMessage Hello(const CoordinatorLink::Options& options) {
  v1::ServerMessage message;
  v1::ServerHello& hello = *message.mutable_hello();
  hello.set_name(options.name);
  hello.set_address(options.address);
  hello.set_version(options.version);
  hello.set_sees_folders(true);
  hello.set_failure_domain(options.failure_domain);
  hello.set_replicates(true);
  hello.set_drains_ahead(true);
  hello.set_max_bytes(options.max_bytes);
  hello.set_connections(options.connections);
  hello.set_tells_log(options.tell_log != nullptr);
  NameFormats(hello);
  return message;
}

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
    const absl::Status over = Serve();
    options_.registration(
        over.ok() ? absl::UnavailableError("the server is stopping") : over);
    const absl::Time now = clock_.Now();
    if (welcomed_) kept_until_ = now + options_.orphan;
    const bool kept =
        absl::IsAborted(over) || (!welcomed_ && now < kept_until_);
    if (over.ok() || !kept) {
      runner_->DropAll(over.ok() ? "the server is stopping"
                                 : "the server has lost its coordinator");
    }
    if (over.ok()) break;
    if (absl::IsInvalidArgument(over)) {
      return Annotate(over, "the coordinator does not take this server");
    }
    Pause(over);
  }
  return absl::OkStatus();
}

void CoordinatorLink::Stop(absl::Duration grace) {
  absl::MutexLock lock(&mu_);
  end_by_ = std::min(end_by_, clock_.Now() + grace);
  // At once, and not a turn later: who follows this server may start meanwhile,
  // and would put it out before the coordinator has heard that it leaves.
  if (inbox_ == nullptr) return;
  inbox_->Put(v1::ServerCommand());
}

absl::Status CoordinatorLink::Serve() {
  Inbox inbox(kMaxUnread);
  unobeyed_ = 0;
  welcomed_ = false;
  told_ = false;
  v1::ServerMessage hello = Hello(options_);
  for (v1::HeldShard& held : runner_->Held()) {
    *hello.mutable_hello()->add_held() = std::move(held);
  }
  has_held_ = hello.hello().held_size() > 0;
  // Last: its reactions use the above.
  Session session(
      {.connect = options_.connect,
       .open =
           [](const std::shared_ptr<grpc::Channel>& channel,
              grpc::ClientContext* context, Session::Reactor* reactor) {
             v1::Fleet::Stub(channel).async()->Server(context, reactor);
           },
       .hello = std::move(hello),
       .lease = lease_,
       .orphan = options_.orphan,
       .refused = options_.refused,
       .term = term_},
      {.on_message =
           [&](v1::ServerCommand& command) {
             if (command.has_tell_log()) {
               return TellLog(command.tell_log(), session);
             }
             // Nothing is to be done about it, nor will be.
             if (command.kind_case() == v1::ServerCommand::KIND_NOT_SET) return;
             // Another thread would have to wake up for it.
             if (unobeyed_ == 0 && runner_->IsBrief(command)) {
               return runner_->Run(command);
             }
             ++unobeyed_;
             inbox.Put(std::move(command));
           },
       .on_over = [&inbox](const absl::Status& status) { inbox.Close(status); },
       .may_read = [&inbox] { return !inbox.full(); },
       .on_link = [this](const absl::Status& link) { TellLink(link); },
       .on_beat =
           [this](v1::ServerMessage& message) {
             message.mutable_heartbeat()->set_replica_lag(
                 runner_->replica_lag());
           }});
  runner_->Begin([&session](v1::ServerMessage message) {
    session.Send(std::move(message));
  });
  const auto set_inbox = [this](Inbox* to) {
    absl::MutexLock lock(&mu_);
    inbox_ = to;
  };
  set_inbox(&inbox);
  const absl::Status outcome = Exchange(inbox, session);
  set_inbox(nullptr);
  // Nobody may send to the session once it is gone.
  runner_->Begin(nullptr);
  return outcome;
}

absl::Status CoordinatorLink::Exchange(Inbox& inbox, Session& session) {
  while (!ShouldEnd(session)) {
    absl::StatusOr<v1::ServerCommand> command = inbox.Take(kTurn);
    session.ReadOn();
    TakeTurn();
    if (command.ok()) {
      Obey(*command, session);
    } else if (!absl::IsDeadlineExceeded(command.status()) || inbox.closed()) {
      return Annotate(command.status(), "the coordinator's session ended");
    }
  }
  session.Finish();
  const absl::Time deadline = clock_.Now() + kFarewell;
  while (clock_.Now() < deadline && !inbox.closed()) {
    (void)inbox.Take(deadline - clock_.Now());  // What comes, comes too late.
    session.ReadOn();
  }
  return absl::OkStatus();
}

void CoordinatorLink::Obey(const v1::ServerCommand& command, Session& session) {
  if (command.kind_case() == v1::ServerCommand::KIND_NOT_SET) return;
  const absl::Cleanup obeyed = [this] { --unobeyed_; };
  if (!command.has_welcome()) return runner_->Run(command);
  if (std::exchange(has_held_, false) && !command.welcome().looks_at_held()) {
    runner_->DropAll("the coordinator does not go on with it");
  }
  lease_ = absl::Milliseconds(std::max(1u, command.welcome().lease_ms()));
  session.SetLease(lease_);
  welcomed_ = true;
  if (!stopping()) options_.registration(absl::OkStatus());
  last_fault_.clear();
  LogInfo("registered", {{"lease_ms", command.welcome().lease_ms()}});
}

// At once: the runner may be in the middle of a long command.
void CoordinatorLink::TellLog(const v1::TellLog& question, Session& session) {
  if (options_.tell_log == nullptr) return;
  v1::ServerMessage message;
  *message.mutable_log_told() = options_.tell_log(question);
  session.Send(std::move(message));
}

void CoordinatorLink::TellLink(const absl::Status& link) {
  if (!stopping()) options_.registration(link);
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

bool CoordinatorLink::ShouldEnd(Session& session) {
  if (!stopping()) return false;
  runner_->Refuse();
  if (!std::exchange(told_, true)) {
    options_.registration(absl::UnavailableError("the server is stopping"));
    v1::ServerMessage message;
    message.mutable_leaving()->set_process(true);
    session.Send(std::move(message));
  }
  if (runner_->idle()) return true;
  absl::MutexLock lock(&mu_);
  if (clock_.Now() < end_by_) return false;
  LogError(
      "the grace is over, and what is hosted here is not saved: its jobs "
      "go back to their last checkpoints");
  return true;
}

void CoordinatorLink::Pause(const absl::Status& ended) {
  if (welcomed_) backoff_ = kBackoffMin;
  // Keys are not exchanged ten times a second.
  if (IsRefusal(ended)) backoff_ = kBackoffMax;
  const std::string fault(ended.message());
  if (fault != last_fault_) {  // Once, not with every attempt.
    last_fault_ = fault;
    if (IsRefusal(ended)) {
      LogError(absl::StrCat(
          "the coordinator does not let this server in, which tries again: ",
          Summary(ended), "; check its certificate or token, and its role"));
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
