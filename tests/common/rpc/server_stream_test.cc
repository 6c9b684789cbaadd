#include "common/rpc/server_stream.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

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

TEST(ServerStreamTest, TheFirstStatusOfACloseWins) {
  Loopback server;
  TestClient client(server.address());
  const auto stream = server.NextStream();
  ASSERT_NE(stream, nullptr);
  stream->Close(absl::AbortedError("fenced"));
  stream->Close(absl::InternalError("late"));
  EXPECT_EQ(client.AwaitEnd(), absl::AbortedError("fenced"));
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

}  // namespace
}  // namespace paceline
