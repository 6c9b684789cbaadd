#include "common/rpc/server_stream.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/rng.h"
#include "common/rpc/client_stream.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/loopback.h"

namespace paceline {
namespace {

// Sends back what it gets.
absl::Status Echo(TestStream& stream, const grpc::ByteBuffer& message) {
  stream.Send(message);
  return absl::OkStatus();
}

TEST(ServerStreamTest, EndsWithOkWhenThePeerIsDone) {
  Loopback server;
  server.behaviour().received = Echo;
  TestClient client(server.address());
  for (int i = 0; i < 100; ++i) client.stream().Send(Numbered(i));
  client.stream().FinishWrites();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.Next(), i);
  EXPECT_TRUE(client.AwaitEnd().ok());
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
  EXPECT_EQ(server.behaviour().ended.load(), 1);
}

TEST(ServerStreamTest, AStatusOfReceivedEndsTheStreamWithIt) {
  Loopback server;
  server.behaviour().received = [](TestStream& stream,
                                   const grpc::ByteBuffer& message) {
    if (NumberOf(message) < 3) return Echo(stream, message);
    return absl::FailedPreconditionError("iteration 3 was pushed before");
  };
  TestClient client(server.address());
  for (int i = 0; i < 3; ++i) {
    client.stream().Send(Numbered(i));
    EXPECT_EQ(client.Next(), i);
  }
  // TestStream fails the test if one of the later ones is received.
  for (int i = 3; i < 20; ++i) client.stream().Send(Numbered(i));
  EXPECT_EQ(client.AwaitEnd(),
            absl::FailedPreconditionError("iteration 3 was pushed before"));
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
}

TEST(ServerStreamTest, CloseWithOkSendsWhatIsQueuedFirst) {
  Loopback server;
  TestClient client(server.address());
  const auto stream = server.NextStream();
  ASSERT_NE(stream, nullptr);
  for (int i = 0; i < 500; ++i) stream->Send(Numbered(i));
  stream->Close(absl::OkStatus());
  stream->Send(Numbered(999));  // Dropped.
  for (int i = 0; i < 500; ++i) EXPECT_EQ(client.Next(), i);
  EXPECT_EQ(client.Next(), -1);
  EXPECT_TRUE(client.AwaitEnd().ok());
}

TEST(ServerStreamTest, ACancelledStreamEnds) {
  Loopback server;
  TestClient client(server.address());
  const auto stream = server.NextStream();
  ASSERT_NE(stream, nullptr);
  client.stream().Cancel();
  EXPECT_TRUE(absl::IsCancelled(client.AwaitEnd()));
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
  EXPECT_EQ(server.behaviour().ended.load(), 1);
  // Its memory stays as long as somebody holds it, and it drops everything.
  stream->Send(Numbered(1));
  stream->Close(absl::OkStatus());
  EXPECT_EQ(server.behaviour().destroyed.load(), 0);
}

TEST(ServerStreamTest, TheClosingOfAllReachesEveryOpenStream) {
  Loopback server;
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.address()));
    ASSERT_NE(server.NextStream(), nullptr);
  }
  EXPECT_FALSE(server.registry().AwaitEmpty(absl::ZeroDuration()));
  server.registry().CloseAll(absl::UnavailableError("the server is stopping"));
  for (const auto& client : clients) {
    EXPECT_EQ(client->AwaitEnd(),
              absl::UnavailableError("the server is stopping"));
  }
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
  EXPECT_EQ(server.behaviour().ended.load(), 5);
  // One that comes later is closed as it begins.
  TestClient late(server.address());
  late.stream().Send(Numbered(1));
  EXPECT_EQ(late.AwaitEnd(), absl::UnavailableError("the server is stopping"));
}

// Several threads send and close at once while the peer reads.
TEST(ServerStreamTest, ManyThreadsMaySendAndClose) {
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  Loopback server;
  TestClient client(server.address());
  const auto stream = server.NextStream();
  ASSERT_NE(stream, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) stream->Send(Numbered(t * kEach + i));
    });
  }
  std::vector<int> next(kThreads);
  for (int i = 0; i < kThreads * kEach; ++i) {
    const int64_t number = client.Next();
    ASSERT_GE(number, 0);
    EXPECT_EQ(number % kEach, next[number / kEach]++);
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] { stream->Close(absl::AbortedError("over")); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(client.AwaitEnd(), absl::AbortedError("over"));
}

TEST(ClientStreamTest, FinishWritesSendsWhatIsQueuedFirst) {
  Loopback server;
  Mailbox<int64_t> received;
  server.behaviour().received = [&](TestStream&,
                                    const grpc::ByteBuffer& message) {
    received.Put(NumberOf(message));
    return absl::OkStatus();
  };
  TestClient client(server.address());
  for (int i = 0; i < 500; ++i) client.stream().Send(Numbered(i));
  client.stream().FinishWrites();
  client.stream().Send(Numbered(999));  // Dropped.
  client.stream().FinishWrites();       // Changes nothing.
  EXPECT_TRUE(client.AwaitEnd().ok());
  for (int i = 0; i < 500; ++i) EXPECT_EQ(*received.Take(kLong), i);
  EXPECT_FALSE(received.Await(absl::ZeroDuration()));
  EXPECT_EQ(client.ends(), 1);
}

TEST(ClientStreamTest, AStatusOfReceivedCancelsTheStream) {
  Loopback server;
  TestClient client(server.address(), ChannelProfile::kControl,
                    [](const grpc::ByteBuffer&) {
                      return absl::InvalidArgumentError("no such block");
                    });
  const auto stream = server.NextStream();
  ASSERT_NE(stream, nullptr);
  for (int i = 0; i < 10; ++i) stream->Send(Numbered(i));
  EXPECT_EQ(client.AwaitEnd(), absl::InvalidArgumentError("no such block"));
  EXPECT_EQ(client.Next(), 0);
  EXPECT_EQ(client.Next(), -1);  // Nothing after it.
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
}

TEST(ClientStreamTest, ItsDestructorEndsTheStream) {
  Loopback server;
  TestClient client(server.address());
  ASSERT_NE(server.NextStream(), nullptr);
  client.stream().Send(Numbered(1));
  client.Drop();
  EXPECT_EQ(client.ends(), 1);
  EXPECT_TRUE(absl::IsCancelled(client.AwaitEnd()));
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
}

TEST(ClientStreamTest, ItsDestructorMayComeBeforeTheConnection) {
  Loopback server;
  for (int i = 0; i < 20; ++i) {
    TestClient client(server.address());
    client.stream().Send(Numbered(i));
    client.Drop();
    EXPECT_EQ(client.ends(), 1);
  }
}

TEST(ClientStreamTest, ItsDestructorMayComeAfterTheEnd) {
  Loopback server;
  TestClient client(server.address());
  client.stream().FinishWrites();
  EXPECT_TRUE(client.AwaitEnd().ok());
  client.stream().Send(Numbered(1));
  client.stream().Cancel();
  client.Drop();
  EXPECT_EQ(client.ends(), 1);
}

TEST(ClientStreamTest, NobodyListensThere) {
  std::string address;
  {
    const Loopback gone;
    address = gone.address();
  }
  TestClient client(address);
  client.stream().Send(Numbered(1));
  EXPECT_TRUE(absl::IsUnavailable(client.AwaitEnd()));
}

TEST(ClientStreamTest, TheServerStopsWithoutAWord) {
  auto server = std::make_unique<Loopback>();
  TestClient client(server->address());
  ASSERT_NE(server->NextStream(), nullptr);
  server->server().Shutdown(std::chrono::system_clock::now());
  EXPECT_FALSE(client.AwaitEnd().ok());
  server.reset();
}

TEST(ClientStreamTest, TheServersStatusArrivesAfterItsMessages) {
  Loopback server;
  TestClient client(server.address());
  const auto stream = server.NextStream();
  ASSERT_NE(stream, nullptr);
  stream->Send(Numbered(7));
  EXPECT_EQ(client.Next(), 7);
  stream->Close(absl::ResourceExhaustedError("too many open rounds"));
  EXPECT_EQ(client.AwaitEnd(),
            absl::ResourceExhaustedError("too many open rounds"));
}

// Many short streams from several threads: each ends once, on both sides,
// however it ends, and nothing is left in the registry.

// How a stream of the test ends.
enum Ending { kPolitely, kCancelled, kDropped, kRefused };

// Sends `ending`, and whatever else fits it.
void RunStream(const std::string& address, Ending ending) {
  TestClient client(address);
  for (int i = 0; i < 5; ++i) client.stream().Send(Numbered(i));
  client.stream().Send(Numbered(100 + ending));
  switch (ending) {
    case kPolitely:
      for (int i = 0; i < 5; ++i) EXPECT_EQ(client.Next(), i);
      client.stream().FinishWrites();
      EXPECT_TRUE(client.AwaitEnd().ok());
      break;
    case kCancelled:
      client.stream().Cancel();
      EXPECT_FALSE(client.AwaitEnd().ok());
      break;
    case kDropped:
      client.Drop();
      break;
    case kRefused:
      EXPECT_EQ(client.AwaitEnd(), absl::AbortedError("refused"));
      break;
  }
  client.Drop();
  EXPECT_EQ(client.ends(), 1);
}

TEST(ManyStreamsTest, EachEndsOnceOnBothSides) {
  constexpr int kThreads = 4;
  constexpr int kEach = 25;
  Loopback server;
  server.behaviour().received = [](TestStream& stream,
                                   const grpc::ByteBuffer& message) {
    if (NumberOf(message) == 100 + kRefused) {
      return absl::AbortedError("refused");
    }
    stream.Send(message);
    return absl::OkStatus();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&server, t] {
      Rng rng(t);
      for (int i = 0; i < kEach; ++i) {
        RunStream(server.address(), static_cast<Ending>(rng.Below(4)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
  EXPECT_LE(server.behaviour().ended.load(), kThreads * kEach);
  EXPECT_GT(server.behaviour().ended.load(), 0);
}

// The server closes all streams while clients come and go.
TEST(ManyStreamsTest, AShutdownAmongThemLeavesNothingOpen) {
  Loopback server;
  std::atomic<bool> stopping = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200 && !stopping; ++i) {
        TestClient client(server.address());
        client.stream().Send(Numbered(i));
        if (i % 2 == 0) client.stream().FinishWrites();
        // Whether it ended before the closing or with it is chance.
        if (i % 4 == 0) client.AwaitEnd().IgnoreError();
      }
    });
  }
  EXPECT_TRUE(server.behaviour().begun.Take(kLong).ok());
  server.registry().CloseAll(absl::UnavailableError("stopping"));
  stopping = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
}

}  // namespace

}  // namespace paceline
