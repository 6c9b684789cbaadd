// A worker's stream through gRPC, from its hello to the end of its run.

#include "services/coordinator/fleet/fleet_service.h"

#include <chrono>
#include <memory>
#include <string>

#include "common/lane/lane_door.h"
#include "common/lane/message_socket.h"
#include "common/mailbox.h"
#include "common/rpc/channel.h"
#include "gmock/gmock.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"
#include "tests/services/coordinator/fleet/fleet_testing.h"
#include "tests/services/coordinator/run/fake_job_server.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

v1::WorkerMessage Pushed(const v1::Grant& grant) {
  v1::WorkerMessage message;
  v1::PushDone& done = *message.mutable_push_done();
  done.set_iteration(grant.iteration());
  done.set_samples(grant.range().end() - grant.range().begin());
  done.set_blocks(2);
  done.set_loss(1);
  return message;
}

class FleetServiceTest : public FleetTest {
 protected:
  void SetUp() override {
    auto listening =
        Listen("127.0.0.1:0", ChannelProfile::kControl, {}, {service_.get()});
    ASSERT_TRUE(listening.ok()) << listening.status();
    listening_ = *std::move(listening);
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(30));
    stub_ = v1::Fleet::NewStub(
        MakeChannel(listening_.address, ChannelProfile::kControl, kLong));
    stream_ = stub_->Worker(&context_);
  }
  void TearDown() override {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
    listening_.server->Shutdown(std::chrono::system_clock::now());
    EXPECT_TRUE(streams_.AwaitEmpty(kLong));
  }

  v1::WorkerCommand Next() {
    v1::WorkerCommand command;
    EXPECT_TRUE(stream_->Read(&command));
    return command;
  }
  void Say(const v1::WorkerMessage& message) {
    EXPECT_TRUE(stream_->Write(message));
  }
  void ExpectRefused(grpc::StatusCode code) {
    v1::WorkerCommand none;
    EXPECT_FALSE(stream_->Read(&none));
    EXPECT_EQ(stream_->Finish().error_code(), code);
    finished_ = true;
  }

  CallGuard guard_{ServerSecurity(), {}, &Clock::Real()};
  StreamRegistry streams_;
  prometheus::Registry registry_;
  FleetMetrics metrics_{registry_};
  const std::unique_ptr<LaneDoor> sockets_ = *LaneDoor::Open();
  std::unique_ptr<grpc::Service> service_ =
      MakeFleetService(&fleet_, &guard_, &streams_, &metrics_, sockets_.get());
  ListeningServer listening_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::Fleet::Stub> stub_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerMessage, v1::WorkerCommand>>
      stream_;
  bool finished_ = false;
};

v1::WorkerMessage HelloFrom(const std::string& host) {
  v1::WorkerMessage hello;
  *hello.mutable_hello() = Worker("w0");
  hello.mutable_hello()->mutable_session()->set_host(host);
  return hello;
}

v1::WorkerMessage BySocket() {
  v1::WorkerMessage message;
  message.mutable_by_socket();
  return message;
}

TEST_F(FleetServiceTest, AMemberOfThisMachineGoesOnByASocket) {
  Say(HelloFrom(HostKey()));
  EXPECT_TRUE(Next().has_registered());
  const v1::WorkerCommand offered = Next();
  ASSERT_TRUE(offered.has_socket_offer());
  auto parts = HandOverSocket(
      {offered.socket_offer().address(), offered.socket_offer().token()});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_TRUE(Next().has_by_socket());
  Mailbox<std::string> heard;
  MessageSocket socket(
      *std::move(parts), /*most=*/1 << 20,
      {.on_message =
           [&](absl::string_view bytes) { heard.Put(std::string(bytes)); },
       .on_sent = [] {},
       .on_nudged = [] {},
       .on_end = [](const absl::Status&) {}});
  socket.ReadOn();
  Say(BySocket());
  for (int i = 0; i < 3; ++i) {
    const std::string said = Heartbeat().SerializeAsString();
    EXPECT_TRUE(socket.Send({said}));
    v1::WorkerCommand answer;
    EXPECT_TRUE(answer.ParseFromString(heard.Take(kLong).value_or("")));
    EXPECT_TRUE(answer.has_heartbeat()) << answer.ShortDebugString();
  }
  EXPECT_TRUE(socket.Send({"no message at all"}));
  ExpectRefused(grpc::INTERNAL);
}

TEST_F(FleetServiceTest, OnlyWhoIsOfThisMachineIsOfferedASocket) {
  Say(HelloFrom(HostKey() + "0"));
  EXPECT_TRUE(Next().has_registered());
  Say(Heartbeat());
  EXPECT_TRUE(Next().has_heartbeat());
  // It has none, so it cannot go on by it.
  Say(BySocket());
  ExpectRefused(grpc::INVALID_ARGUMENT);
}

TEST_F(FleetServiceTest, PushesAndGrantsPassBetweenAStreamAndItsRun) {
  ServerStream registered;
  FakeJobServer server(Come(registered, "s0"), "s0");
  const auto run = AddRun(1, {server.Link()});
  server.Serve(run.get());
  v1::WorkerMessage hello;
  *hello.mutable_hello() = Worker("w0");
  Say(hello);
  const v1::WorkerCommand registered_as = Next();
  EXPECT_TRUE(registered_as.has_registered());
  EXPECT_FALSE(registered_as.registered().has_session())
      << "none was asked for";
  ASSERT_EQ(fleet_.Members().size(), 1u);
  EXPECT_TRUE(fleet_.Assign(fleet_.Members()[0].id, 1).ok());
  EXPECT_TRUE(Next().has_assign());
  Say(Ready());
  run->Start();
  EXPECT_TRUE(Next().begin().initialize());
  v1::WorkerMessage initialized;
  initialized.mutable_initialized();
  Say(initialized);
  v1::WorkerMessage last;
  for (int i = 0; i < 4; ++i) {
    const v1::WorkerCommand command = Next();
    ASSERT_TRUE(command.has_grant()) << command.ShortDebugString();
    last = Pushed(command.grant());
    Say(last);
  }
  EXPECT_EQ(Next().stop().reason(), "the job has ended");
  EXPECT_TRUE(OutcomeOf(run, /*start=*/false).status.ok());
  EXPECT_EQ(run->Progress().samples(), 40);

  // What it had said before it heard of the end harms nobody.
  fleet_.RemoveRun(1);
  Say(last);
  Say(Heartbeat());
  EXPECT_TRUE(Next().has_heartbeat());
  EXPECT_THAT(States(), ElementsAre("workers/w0 LEAVING"));
  server.Stop();
}

}  // namespace
}  // namespace paceline
