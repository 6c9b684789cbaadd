// Many short streams from several threads: each ends once, on both sides,
// however it ends, and nothing is left in the registry.

#include <atomic>
#include <thread>
#include <vector>

#include "common/rng.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/loopback.h"

namespace paceline {
namespace {

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
