#include "services/parameter_server/coordinator_link.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(100);
constexpr size_t kMaxQueued = 10'000;

}  // namespace

CoordinatorLink::CoordinatorLink(
    const Options& options, CommandRunner* runner,
    std::function<void(absl::Duration lease)> each_turn)
    : options_(options), runner_(runner), each_turn_(std::move(each_turn)) {}

absl::Status CoordinatorLink::Run() {
  Connect();
  while (!stopped_) {
    absl::StatusOr<v1::ServerCommand> command = commands_.Take(kTurn);
    TakeTurn();
    if (command.ok()) {
      last_heard_ = clock_.Now();
      const absl::Status obeyed = Obey(*command);
      if (obeyed.ok()) continue;
      v1::ServerMessage message;
      message.mutable_failed()->set_code(static_cast<int>(obeyed.code()));
      message.mutable_failed()->set_message(std::string(obeyed.message()));
      stream_->Send(std::move(message));
      stream_->FinishWrites();
      return obeyed;
    }
    if (!absl::IsDeadlineExceeded(command.status())) {
      return Annotate(command.status(), "the coordinator's stream ended");
    }
    if (clock_.Now() - last_heard_ > 2 * lease_) {
      stream_->Cancel();
      return absl::UnavailableError(
          "the coordinator was not heard for two leases");
    }
  }
  stream_->FinishWrites();
  return absl::OkStatus();
}

void CoordinatorLink::Stop() {
  commands_.Close(absl::CancelledError("told to stop"));
}

void CoordinatorLink::Connect() {
  channel_ =
      MakeChannel(options_.coordinator, ChannelProfile::kControl, lease_);
  stub_ = v1::Fleet::NewStub(channel_);
  stream_ = std::make_unique<Stream>(
      kMaxQueued,
      Stream::Handlers{
          [this](v1::ServerCommand& command) {
            commands_.Put(std::move(command));
            return absl::OkStatus();
          },
          [this](const absl::Status& status) { commands_.Close(status); }},
      [this](grpc::ClientContext* context, auto* reactor) {
        // A coordinator that is slow to come up is not gone: the first word of
        // it is waited for as long as every later one.
        context->set_wait_for_ready(true);
        stub_->async()->Server(context, reactor);
      });
  v1::ServerMessage hello;
  hello.mutable_hello()->set_name(options_.name);
  hello.mutable_hello()->set_address(options_.address);
  stream_->Send(std::move(hello));
  last_heard_ = last_sent_ = clock_.Now();
}

absl::Status CoordinatorLink::Obey(const v1::ServerCommand& command) {
  switch (command.kind_case()) {
    case v1::ServerCommand::kWelcome:
      lease_ = absl::Milliseconds(command.welcome().lease_ms());
      return absl::OkStatus();
    case v1::ServerCommand::kHeartbeat:
      return absl::OkStatus();
    case v1::ServerCommand::kStop:
      LogInfo("told to stop", {{"reason", command.stop().reason()}});
      stopped_ = true;
      return absl::OkStatus();
    default:
      break;
  }
  PACELINE_ASSIGN_OR_RETURN(v1::CommandDone done, runner_->Run(command));
  v1::ServerMessage message;
  *message.mutable_done() = std::move(done);
  stream_->Send(std::move(message));
  last_sent_ = clock_.Now();
  return absl::OkStatus();
}

void CoordinatorLink::TakeTurn() {
  const absl::Time now = clock_.Now();
  if (now < next_turn_) return;
  next_turn_ = now + kTurn;
  each_turn_(lease_);
  if (now - last_sent_ < lease_ / 3) return;
  v1::ServerMessage message;
  message.mutable_heartbeat();
  stream_->Send(std::move(message));
  last_sent_ = now;
}

}  // namespace paceline
