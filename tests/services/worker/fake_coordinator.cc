#include "tests/services/worker/fake_coordinator.h"

#include <chrono>
#include <utility>

#include "common/check.h"
#include "gtest/gtest.h"

namespace paceline {

absl::Status FakeSession::OnMessage(v1::WorkerMessage& message) {
  if (message.has_end()) {
    Close(absl::OkStatus());
    return absl::OkStatus();
  }
  if (message.has_by_socket()) {
    by_socket_.Notify();
    return ReadBypass();
  }
  if (!message.has_heartbeat()) {
    said_.Put(std::move(message));
    return absl::OkStatus();
  }
  heartbeats_.Put(true);
  if (silent_) return absl::OkStatus();
  v1::WorkerCommand answer;
  answer.mutable_heartbeat();
  Send(std::move(answer));
  return absl::OkStatus();
}

v1::WorkerMessage FakeSession::Next() {
  auto message = said_.Take(kTestPatience);
  EXPECT_TRUE(message.ok()) << message.status();
  return message.ok() ? *std::move(message) : v1::WorkerMessage();
}

v1::WorkerMessage FakeSession::Expect(v1::WorkerMessage::KindCase kind) {
  v1::WorkerMessage message = Next();
  EXPECT_EQ(message.kind_case(), kind) << message.ShortDebugString();
  return message;
}

void FakeSession::ExpectEnd() {
  const auto message = said_.Take(kTestPatience);
  EXPECT_TRUE(absl::IsCancelled(message.status()))
      << (message.ok() ? message->ShortDebugString()
                       : message.status().ToString());
}

void FakeSession::AwaitHeartbeats(int count) {
  while (heartbeats_.Take(absl::ZeroDuration()).ok()) {  // Of before.
  }
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(heartbeats_.Take(kTestPatience).ok());
  }
}

void FakeSession::OfferSocket(LaneDoor& door) {
  const LaneInvitation invitation =
      door.InviteSocket([self = weak_from_this()](MessageSocket::Parts socket) {
        const auto open = std::static_pointer_cast<FakeSession>(self.lock());
        if (open == nullptr) return;
        v1::WorkerCommand last;
        last.mutable_by_socket();
        open->Bypass(std::move(socket), std::move(last));
      });
  v1::WorkerCommand offer;
  offer.mutable_socket_offer()->set_address(invitation.address);
  offer.mutable_socket_offer()->set_token(invitation.token);
  Send(std::move(offer));
}

void FakeSession::GoOnBySocket(LaneDoor& door) {
  OfferSocket(door);
  EXPECT_TRUE(by_socket_.WaitForNotificationWithTimeout(kTestPatience));
}

v1::WorkerHello FakeSession::Register(absl::Duration lease) {
  v1::WorkerMessage message = Expect(v1::WorkerMessage::kHello);
  v1::WorkerCommand command;
  command.mutable_registered()->set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(lease)));
  Send(std::move(command));
  return message.hello();
}

void FakeSession::Assign(const v1::Assignment& assignment) {
  v1::WorkerCommand command;
  *command.mutable_assign() = assignment;
  Send(std::move(command));
}

void FakeSession::Stop(absl::StatusCode code) {
  v1::WorkerCommand command;
  command.mutable_stop()->set_reason("the test says so");
  command.mutable_stop()->set_code(static_cast<int>(code));
  Send(std::move(command));
}

void FakeSession::Grant(int64_t iteration, int64_t closing) {
  v1::WorkerCommand command;
  v1::Grant& grant = *command.mutable_grant();
  grant.set_iteration(iteration);
  grant.set_closing(closing);
  grant.mutable_range()->set_end(32);
  grant.mutable_plan()->set_immediate_rate(0.1);
  Send(std::move(command));
}

void FakeSession::GrantRound(int64_t iteration, int64_t closing) {
  GrantRound(iteration, closing, /*base_version=*/closing);
}

void FakeSession::GrantRound(int64_t iteration, int64_t closing,
                             int64_t base_version) {
  v1::WorkerCommand command;
  v1::Grant& grant = *command.mutable_grant();
  grant.set_iteration(iteration);
  grant.set_closing(closing);
  grant.set_base_version(base_version);
  grant.mutable_range()->set_end(32);
  grant.mutable_plan()->set_round(static_cast<uint64_t>(iteration));
  Send(std::move(command));
}

FakeCoordinator::FakeCoordinator(const std::string& address) {
  auto listening = Listen(address, ChannelProfile::kControl, {}, {this});
  CHECK(listening.ok());
  listening_ = *std::move(listening);
}

FakeCoordinator::~FakeCoordinator() {
  registry_.CloseAll(absl::UnavailableError("the test is over"));
  listening_.server->Shutdown(std::chrono::system_clock::now());
  listening_.server->Wait();
  EXPECT_TRUE(registry_.AwaitEmpty(kTestPatience));
}

std::shared_ptr<FakeSession> FakeCoordinator::NextSession() {
  auto session = sessions_.Take(kTestPatience);
  EXPECT_TRUE(session.ok()) << "no worker has come";
  return session.ok() ? *session : std::make_shared<FakeSession>();
}

grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>*
FakeCoordinator::Worker(grpc::CallbackServerContext*) {
  const auto session = std::make_shared<FakeSession>();
  session->Begin(&registry_);
  sessions_.Put(session);
  return session.get();
}

}  // namespace paceline
