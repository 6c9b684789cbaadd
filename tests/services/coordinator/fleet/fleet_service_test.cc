// A worker's stream through gRPC, from its hello to the end of its run.

#include "services/coordinator/fleet/fleet_service.h"

#include <chrono>
#include <memory>

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
    stream_->Finish();
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

  CallGuard guard_{ServerSecurity(), {}, &Clock::Real()};
  StreamRegistry streams_;
  prometheus::Registry registry_;
  FleetMetrics metrics_{registry_};
  std::unique_ptr<grpc::Service> service_ =
      MakeFleetService(&fleet_, &guard_, &streams_, &metrics_);
  ListeningServer listening_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::Fleet::Stub> stub_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerMessage, v1::WorkerCommand>>
      stream_;
};

TEST_F(FleetServiceTest, PushesAndGrantsPassBetweenAStreamAndItsRun) {
  ServerStream registered;
  FakeJobServer server(Come(registered, "s0"), "s0");
  const auto run = AddRun(1, {server.Link()});
  server.Serve(run.get());
  v1::WorkerMessage hello;
  *hello.mutable_hello() = Worker("w0");
  Say(hello);
  EXPECT_TRUE(Next().has_registered());
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
