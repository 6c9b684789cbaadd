#include "services/parameter_server/coordinator_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/rpc/channel.h"
#include "common/rpc/server_stream.h"
#include "tests/common/security/eventually.h"
#include "tests/services/parameter_server/command_runner_testing.h"
#include "tests/services/parameter_server/job_shard_testing.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

constexpr uint32_t kLeaseMs = 3000;  // Three heartbeats.

// A coordinator that says what the test tells it to.
class FakeCoordinator : public v1::Fleet::CallbackService {
 public:
  explicit FakeCoordinator(const std::string& address = "127.0.0.1:0") {
    auto listens = Listen(address, ChannelProfile::kControl, {}, {this});
    EXPECT_TRUE(listens.ok()) << listens.status();
    listening_ = *std::move(listens);
  }
  ~FakeCoordinator() override { Die(); }

  const std::string& address() const { return listening_.address; }

  // It looks at what servers say they have.
  void LookAtHeld() { looks_at_held_ = true; }
  // Ends every stream with this, from the next hello on.
  void Refuse(absl::Status why) {
    absl::MutexLock lock(&mu_);
    refusal_ = std::move(why);
  }
  void Send(const v1::ServerCommand& command) {
    const std::shared_ptr<Stream> stream = Present();
    ASSERT_NE(stream, nullptr);
    stream->Send(command);
  }
  // Whether little waits to be sent, within `patience`.
  bool AwaitFewQueued(absl::Duration patience) {
    const std::shared_ptr<Stream> stream = Present();
    const absl::Time give_up = absl::Now() + patience;
    while (stream->queued() >= 100) {
      if (absl::Now() > give_up) return false;
      std::this_thread::yield();
    }
    return true;
  }
  // Ends the present stream.
  void Break(const absl::Status& why) {
    const std::shared_ptr<Stream> stream = Present();
    ASSERT_NE(stream, nullptr);
    stream->Close(why);
  }
  void Die() {
    if (listening_.server == nullptr) return;
    streams_.CloseAll(absl::UnavailableError("the coordinator dies"));
    listening_.server->Shutdown(
        absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    listening_.server->Wait();
    EXPECT_TRUE(streams_.AwaitEmpty(absl::Seconds(10)));
    listening_.server = nullptr;
  }

  // The next message that is no heartbeat.
  v1::ServerMessage Next() {
    while (true) {
      auto message = messages_.Take(absl::Seconds(30));
      EXPECT_TRUE(message.ok()) << message.status();
      if (!message.ok()) return {};
      if (!message->has_heartbeat()) return *message;
    }
  }
  // Waits for so many heartbeats from now on.
  bool AwaitHeartbeats(int count) {
    absl::MutexLock lock(&mu_);
    const int wanted = heartbeats_ + count;
    const auto came = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return heartbeats_ >= wanted;
    };
    return mu_.AwaitWithTimeout(absl::Condition(&came), absl::Seconds(30));
  }
  int hellos() const { return hellos_; }
  bool AwaitEnded() {
    absl::MutexLock lock(&mu_);
    const auto ended = [this]()
                           ABSL_SHARED_LOCKS_REQUIRED(mu_) { return ended_; };
    return mu_.AwaitWithTimeout(absl::Condition(&ended), absl::Seconds(30));
  }

  grpc::ServerBidiReactor<v1::ServerMessage, v1::ServerCommand>* Server(
      grpc::CallbackServerContext*) override {
    const auto stream = std::make_shared<Stream>(this);
    stream->Begin(&streams_);
    return stream.get();
  }

 private:
  class Stream : public ServerStream<v1::ServerMessage, v1::ServerCommand> {
   public:
    explicit Stream(FakeCoordinator* owner)
        : ServerStream(1000), owner_(owner) {}
    using ServerStream::queued;

   protected:
    absl::Status OnMessage(v1::ServerMessage& message) override {
      if (message.has_hello()) {
        ++owner_->hellos_;
        absl::MutexLock lock(&owner_->mu_);
        if (!owner_->refusal_.ok()) return owner_->refusal_;
        owner_->stream_ = std::static_pointer_cast<Stream>(shared_from_this());
        owner_->ended_ = false;
        v1::ServerCommand welcome;
        welcome.mutable_welcome()->set_lease_ms(kLeaseMs);
        welcome.mutable_welcome()->set_looks_at_held(owner_->looks_at_held_);
        Send(welcome);
      }
      if (message.has_heartbeat()) {
        absl::MutexLock lock(&owner_->mu_);
        ++owner_->heartbeats_;
      }
      owner_->messages_.Put(std::move(message));
      return absl::OkStatus();
    }
    void OnDisconnected() override {
      absl::MutexLock lock(&owner_->mu_);
      owner_->ended_ = true;
    }

   private:
    FakeCoordinator* const owner_;
  };

  // Outside the lock it may be used: closing it may end it.
  std::shared_ptr<Stream> Present() {
    absl::MutexLock lock(&mu_);
    return stream_.lock();
  }

  Mailbox<v1::ServerMessage> messages_;
  std::atomic<int> hellos_ = 0;
  std::atomic<bool> looks_at_held_ = false;
  StreamRegistry streams_;
  absl::Mutex mu_;
  absl::Status refusal_ ABSL_GUARDED_BY(mu_);
  int heartbeats_ ABSL_GUARDED_BY(mu_) = 0;
  std::weak_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // The last stream that came.
  ListeningServer listening_;
};

// A server without its parameter service.
class LinkedServer {
 public:
  explicit LinkedServer(std::string coordinator)
      : link_({.connect =
                   [coordinator](absl::Duration liveness) {
                     return MakeChannel(coordinator, ChannelProfile::kControl,
                                        liveness);
                   },
               .name = "s0",
               .address = "127.0.0.1:1",
               .version = "1.2.3",
               .registration =
                   [this](const absl::Status& status) {
                     absl::MutexLock lock(&mu_);
                     registration_ = status;
                   }},
              &running_.runner, [this](absl::Duration) { ++turns_; }),
        thread_([this] { outcome_ = link_.Run(); }) {}
  ~LinkedServer() {
    link_.Stop(absl::ZeroDuration());
    if (thread_.joinable()) thread_.join();
  }

  void Leave(absl::Duration grace) { link_.Stop(grace); }
  absl::Status Stop(absl::Duration grace) {
    Leave(grace);
    return Join();
  }
  absl::Status Join() {
    thread_.join();
    return outcome_;
  }
  Shard& shard() { return running_.shard; }
  std::thread::id thread_id() const { return thread_.get_id(); }
  int turns() const { return turns_; }
  absl::Status registration() const {
    absl::MutexLock lock(&mu_);
    return registration_;
  }

 private:
  RunningShard running_;
  mutable absl::Mutex mu_;
  absl::Status registration_ ABSL_GUARDED_BY(mu_) =
      absl::UnknownError("never called");
  std::atomic<int> turns_ = 0;
  CoordinatorLink link_;
  absl::Status outcome_ = absl::UnknownError("Run() has not ended");
  std::thread thread_;
};

// A run whose closings are not brief.
v1::ServerCommand HostLargeCommand(uint64_t run) {
  constexpr int kBlocks = 5;
  v1::ServerCommand command = HostCommand(run);
  v1::HostJob& host = *command.mutable_host();
  host.clear_blocks();
  v1::TensorSpec& tensor = *host.mutable_tensors(0);
  tensor.set_shape(0, kBlocks * kBlockElementsMax);
  tensor.set_size(kBlocks * kBlockElementsMax);
  for (uint32_t i = 0; i < kBlocks; ++i) {
    v1::Block& block = *host.add_blocks();
    block.set_id(10 + i);
    block.set_offset(i * kBlockElementsMax);
    block.set_size(kBlockElementsMax);
  }
  return command;
}

// Has the server, which has just come, host a run.
void Host(FakeCoordinator& coordinator, const v1::ServerCommand& host) {
  EXPECT_TRUE(coordinator.Next().has_hello());
  coordinator.Send(host);
  EXPECT_TRUE(coordinator.Next().has_done());
}

// A closing of run 4 that lasts until the test ends it.
class LongClosing {
 public:
  LongClosing(FakeCoordinator& coordinator, LinkedServer& server) {
    Host(coordinator, HostLargeCommand(4));
    JobShard& job = **server.shard().Job(4);
    EXPECT_TRUE(SetAll(job, 0).ok());
    job.Pull({.deadline = absl::InfiniteFuture()}, 1,
             [this](const absl::StatusOr<PulledBlocks>&) {
               begun_.Notify();
               may_end_.WaitForNotification();
             });
    coordinator.Send(CloseCommand(4, 2, 1));
    begun_.WaitForNotification();
  }
  void End() { may_end_.Notify(); }

 private:
  absl::Notification begun_, may_end_;
};

TEST(CoordinatorLinkTest, RegistersObeysAndStops) {
  FakeCoordinator coordinator;
  LinkedServer server(coordinator.address());
  const v1::ServerMessage hello = coordinator.Next();
  EXPECT_EQ(hello.hello().name(), "s0");
  EXPECT_EQ(hello.hello().address(), "127.0.0.1:1");
  EXPECT_EQ(hello.hello().version(), "1.2.3");
  EXPECT_THAT(hello.hello().formats(), testing::ElementsAre(v1::INT8));
  coordinator.Send(HostCommand(4));
  const v1::ServerMessage done = coordinator.Next();
  EXPECT_EQ(done.run(), 4u);
  EXPECT_EQ(done.done().sequence(), 1u);
  coordinator.Send(CloseCommand(4, 9, 1));
  EXPECT_TRUE(coordinator.Next().has_failed()) << "which ends the run alone";
  coordinator.Send(HostCommand(5));
  EXPECT_TRUE(coordinator.Next().has_done());
  EXPECT_TRUE(server.registration().ok());
  server.Leave(absl::Hours(1));
  EXPECT_TRUE(coordinator.Next().has_leaving());
  EXPECT_EQ(server.registration(),
            absl::UnavailableError("the server is stopping"));
  coordinator.Send(UnhostCommand(4, "it has failed"));
  coordinator.Send(UnhostCommand(5, "it is saved"));
  EXPECT_TRUE(server.Join().ok());
  EXPECT_TRUE(coordinator.AwaitEnded());
  EXPECT_TRUE(server.shard().Jobs().empty());
}

TEST(CoordinatorLinkTest, ACoordinatorThatDoesNotLetGoIsNotWaitedForForEver) {
  FakeCoordinator coordinator;
  LinkedServer server(coordinator.address());
  Host(coordinator, HostCommand(4));
  EXPECT_TRUE(server.Stop(absl::Milliseconds(10)).ok());
  EXPECT_TRUE(server.shard().Jobs().empty());
}

// The closing of a large model may take longer than a lease, and a server that
// falls silent loses all its jobs.
TEST(CoordinatorLinkTest, ALongCommandDoesNotEndItsLease) {
  FakeCoordinator coordinator;
  LinkedServer server(coordinator.address());
  LongClosing closing(coordinator, server);
  EXPECT_TRUE(coordinator.AwaitHeartbeats(4)) << "more than a lease of them";
  closing.End();
  EXPECT_EQ(coordinator.Next().done().sequence(), 2u);
  EXPECT_EQ(coordinator.hellos(), 1);
}

// Where a brief command is heard, nobody is woken up for it. But it comes
// behind what came before.
TEST(CoordinatorLinkTest, ABriefClosingIsMadeWhereItIsHeard) {
  FakeCoordinator coordinator;
  LinkedServer server(coordinator.address());
  LongClosing closing(coordinator, server);
  coordinator.Send(HostCommand(5));
  coordinator.Send(CloseCommand(5, 2, 1));
  closing.End();
  EXPECT_EQ(coordinator.Next().run(), 4u);
  EXPECT_EQ(coordinator.Next().done().sequence(), 1u);
  EXPECT_EQ(coordinator.Next().done().sequence(), 2u);
  // Alone, so that it is not made on a thread of its own in any case.
  coordinator.Send(UnhostCommand(4, "it is over"));
  EXPECT_TRUE(Eventually([&] { return server.shard().Jobs().size() == 1; }));
  JobShard& job = **server.shard().Job(5);
  EXPECT_TRUE(SetAll(job, 0).ok());
  std::atomic<std::thread::id> closes;
  job.Pull({.deadline = absl::InfiniteFuture()}, 2,
           [&](const absl::StatusOr<PulledBlocks>&) {
             closes = std::this_thread::get_id();
           });
  coordinator.Send(CloseCommand(5, 3, 2));
  EXPECT_EQ(coordinator.Next().done().sequence(), 3u);
  EXPECT_NE(closes.load(), std::thread::id());
  EXPECT_NE(closes.load(), server.thread_id());
}

// What waits for a long command waits at the coordinator, not in the server's
// memory.
TEST(CoordinatorLinkTest, CommandsThatItHasNoTimeForAreNotRead) {
  FakeCoordinator coordinator;
  LinkedServer server(coordinator.address());
  LongClosing closing(coordinator, server);
  // Of a run that is not hosted: nothing comes of it.
  v1::ServerCommand large = CloseCommand(5, 2, 1);
  large.mutable_close()->mutable_rounds()->Resize(2'048, 7);
  int sent = 0;
  const auto patience = [&sent] {
    return sent < 1'000 ? absl::Seconds(30) : absl::Seconds(1);
  };
  while (sent < 20'000 && coordinator.AwaitFewQueued(patience())) {
    coordinator.Send(large);
    ++sent;
  }
  EXPECT_GE(sent, 1'000);
  EXPECT_LT(sent, 10'000);
  closing.End();
  EXPECT_EQ(coordinator.Next().done().sequence(), 2u);
  coordinator.Send(HostCommand(6));
  EXPECT_EQ(coordinator.Next().run(), 6u) << "all of it is read in the end";
  EXPECT_EQ(coordinator.hellos(), 1);
}

// One of an older release goes on with nothing.
TEST(CoordinatorLinkTest, WhatTheNextCoordinatorDoesNotLookAtIsDropped) {
  FakeCoordinator coordinator;
  LinkedServer server(coordinator.address());
  for (int i = 1; i <= 3; ++i) {
    Host(coordinator, HostCommand(4));
    PullResult parked;
    (*server.shard().Job(4))
        ->Pull({.deadline = absl::InfiniteFuture()}, 0, parked.callback());
    coordinator.Break(absl::AbortedError("your lease has ended"));
    const v1::ServerMessage hello = coordinator.Next();
    ASSERT_EQ(hello.hello().held_size(), 1);
    EXPECT_EQ(hello.hello().held(0).run(), 4u);
    // What comes after the welcome finds the place free.
    coordinator.Send(HostCommand(4));
    EXPECT_TRUE(coordinator.Next().has_done());
    EXPECT_EQ(parked.status().code(), StatusCode::kUnavailable);
    coordinator.Send(UnhostCommand(4, "the test goes on"));
    coordinator.Break(absl::AbortedError("and again"));
  }
}

TEST(CoordinatorLinkTest, WhatTheNextCoordinatorLooksAtIsKept) {
  FakeCoordinator coordinator;
  coordinator.LookAtHeld();
  LinkedServer server(coordinator.address());
  Host(coordinator, HostCommand(4));
  PullResult parked;
  (*server.shard().Job(4))
      ->Pull({.deadline = absl::InfiniteFuture()}, 0, parked.callback());
  for (int life = 0; life < 3; ++life) {
    coordinator.Break(absl::AbortedError("that is another coordinator"));
    const v1::ServerMessage hello = coordinator.Next();
    ASSERT_EQ(hello.hello().held_size(), 1);
    EXPECT_EQ(hello.hello().held(0).shard(), 0u);
    EXPECT_FALSE(hello.hello().held(0).backup());
  }
  // It goes on where it was: the next command is the second.
  coordinator.Send(CloseCommand(4, 2, 1));
  EXPECT_EQ(coordinator.Next().done().sequence(), 2u);
  EXPECT_EQ(parked.calls(), 0);
  coordinator.Send(UnhostCommand(4, "no run goes on with it"));
  coordinator.Send(HostCommand(4));
  EXPECT_EQ(coordinator.Next().done().sequence(), 1u);
  EXPECT_EQ(parked.status().code(), StatusCode::kUnavailable);
}

TEST(CoordinatorLinkTest, WaitsForACoordinatorThatComesBack) {
  auto coordinator = std::make_unique<FakeCoordinator>();
  const std::string address = coordinator->address();
  LinkedServer server(address);
  Host(*coordinator, HostCommand(4));
  coordinator->Die();
  const int before = server.turns();
  while (server.turns() < before + 5) std::this_thread::yield();
  coordinator = std::make_unique<FakeCoordinator>(address);
  Host(*coordinator, HostCommand(4));
  EXPECT_TRUE(server.Stop(absl::ZeroDuration()).ok());
}

TEST(CoordinatorLinkTest, TriesAgainWhereItIsNotLetIn) {
  FakeCoordinator coordinator;
  coordinator.Refuse(absl::UnauthenticatedError("unknown token"));
  LinkedServer server(coordinator.address());
  while (coordinator.hellos() < 2) std::this_thread::yield();
  coordinator.Refuse(absl::OkStatus());
  EXPECT_TRUE(coordinator.Next().has_hello());
  EXPECT_TRUE(server.Stop(absl::ZeroDuration()).ok());
}

TEST(CoordinatorLinkTest, EndsWhereItWillNeverBeTaken) {
  FakeCoordinator coordinator;
  coordinator.Refuse(absl::InvalidArgumentError("\"s 0\" is no name"));
  LinkedServer server(coordinator.address());
  const absl::Status outcome = server.Join();
  EXPECT_EQ(outcome.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(outcome.message()), HasSubstr("\"s 0\" is no name"));
}

TEST(CoordinatorLinkTest, StopsWithoutACoordinatorToo) {
  LinkedServer server("127.0.0.1:1");
  while (server.turns() < 3) std::this_thread::yield();
  EXPECT_TRUE(server.Stop(absl::Seconds(30)).ok());
}

// SIGTERM: what it hosts is saved before it goes.
TEST(CoordinatorLinkTest, WritesACheckpointBeforeItGoes) {
  const ScratchFolder scratch;
  FakeCoordinator coordinator;
  LinkedServer server(coordinator.address());
  EXPECT_TRUE(coordinator.Next().has_hello());
  v1::ServerCommand host = HostCommand(4);
  // Large enough not to be written in a moment.
  const int64_t blocks = 64;
  host.mutable_host()->mutable_tensors(0)->set_size(blocks << 18);
  host.mutable_host()->clear_blocks();
  for (int64_t i = 0; i < blocks; ++i) {
    v1::Block& block = *host.mutable_host()->add_blocks();
    block.set_id(static_cast<uint32_t>(i));
    block.set_offset(i << 18);
    block.set_size(1 << 18);
  }
  coordinator.Send(host);
  EXPECT_TRUE(coordinator.Next().has_done());
  ASSERT_TRUE(SetAll(**server.shard().Job(4), 1).ok());
  server.Leave(absl::Hours(1));
  EXPECT_TRUE(coordinator.Next().has_leaving());
  coordinator.Send(WriteCommand(4, 2, 1, scratch.path()));
  EXPECT_TRUE(coordinator.Next().has_done());
  coordinator.Send(HostCommand(5));
  int refused = 0, written = 0;
  for (int i = 0; i < 2; ++i) {  // In either order.
    const v1::ServerMessage message = coordinator.Next();
    refused += message.has_failed() && message.run() == 5;
    written += message.has_checkpoint_written() &&
               message.checkpoint_written().code() == 0;
  }
  EXPECT_EQ(refused, 1) << "it takes no new run";
  EXPECT_EQ(written, 1);
  EXPECT_TRUE(
      std::filesystem::exists(scratch.path() + "/server-0-of-1.safetensors"));
  coordinator.Send(UnhostCommand(4, "it is saved"));
  coordinator.Send(UnhostCommand(5, "it has failed"));
  EXPECT_TRUE(server.Join().ok());
}

}  // namespace
}  // namespace paceline
