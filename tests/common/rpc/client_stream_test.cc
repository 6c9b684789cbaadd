#include "common/rpc/client_stream.h"

#include <chrono>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/common/rpc/loopback.h"

namespace paceline {
namespace {

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

}  // namespace
}  // namespace paceline
