// A peer that does not read must cost a bounded queue, not the memory.

#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/rpc/client_stream.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/loopback.h"

namespace paceline {
namespace {

constexpr size_t kBound = 8;
constexpr size_t kLarge = 64 << 10;  // Larger than what is in flight unread.

// Reads nothing before ReadAll().
class LazyClient
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit LazyClient(const std::string& address)
      : channel_(
            MakeChannel(address, ChannelProfile::kControl, absl::Seconds(20))) {
    OpenExchange(channel_, &context_, this);
    AddHold();
    StartCall();
  }

  void ReadAll() {
    StartRead(&incoming_);
    RemoveHold();
  }

  // Of ReadAll(): the numbers in their order.
  const std::vector<int64_t>& AwaitDone() {
    EXPECT_TRUE(done_.WaitForNotificationWithTimeout(kLong));
    return numbers_;
  }
  const grpc::Status& status() const { return status_; }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    numbers_.push_back(NumberOf(incoming_));
    StartRead(&incoming_);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;
  std::vector<int64_t> numbers_;
  grpc::Status status_;
  absl::Notification done_;
};

TEST(SlowReaderTest, TheServerGivesUpOnAPeerThatDoesNotRead) {
  Loopback server;
  server.behaviour().max_queued = kBound;
  LazyClient client(server.address());
  const auto stream = server.NextStream();
  ASSERT_NE(stream, nullptr);
  for (int i = 0; i < 500; ++i) stream->Send(Numbered(i, kLarge));
  client.ReadAll();
  const std::vector<int64_t>& numbers = client.AwaitDone();
  // The beginning, without a gap, and then the reason.
  EXPECT_LT(numbers.size(), 500u);
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(numbers[i], static_cast<int64_t>(i));
  }
  EXPECT_EQ(client.status().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
}

// The last write is held by the transport until then; the shutdown cancels it.
TEST(SlowReaderTest, AServerShutsDownAlthoughAPeerDoesNotRead) {
  Loopback server;
  server.behaviour().max_queued = kBound;
  LazyClient client(server.address());
  {
    const auto stream = server.NextStream();
    ASSERT_NE(stream, nullptr);
    for (int i = 0; i < 500; ++i) stream->Send(Numbered(i, kLarge));
  }
  server.registry().CloseAll(absl::UnavailableError("stopping"));
  server.server().Shutdown(std::chrono::system_clock::now());
  server.server().Wait();
  EXPECT_TRUE(server.registry().AwaitEmpty(kLong));
  EXPECT_EQ(server.behaviour().ended.load(), 1);
  client.ReadAll();
  client.AwaitDone();
}

// Neither does a client collect what its server does not read.
TEST(SlowReaderTest, AClientsFullQueueEndsItsStream) {
  Loopback server;
  absl::Notification may_read;
  server.behaviour().received = [&](TestStream&, const grpc::ByteBuffer&) {
    may_read.WaitForNotification();
    return absl::OkStatus();
  };
  const auto channel =
      MakeChannel(server.address(), ChannelProfile::kControl, kLong);
  Mailbox<absl::StatusCode> ended;
  using Stream = ClientStream<grpc::ByteBuffer, grpc::ByteBuffer>;
  Stream client(
      kBound,
      Stream::Handlers{
          [](const grpc::ByteBuffer&) { return absl::OkStatus(); },
          [&](const absl::Status& status) { ended.Put(status.code()); }},
      [&](grpc::ClientContext* context, auto* reactor) {
        OpenExchange(channel, context, reactor);
      });
  for (int i = 0; i < 500; ++i) client.Send(Numbered(i, kLarge));
  may_read.Notify();
  EXPECT_EQ(*ended.Take(kLong), absl::StatusCode::kCancelled);
}

// A client whose owner has no room for more, until Read() makes some.
class FullClient {
 public:
  explicit FullClient(const std::string& address)
      : channel_(MakeChannel(address, ChannelProfile::kControl, kLong)),
        stream_(kBound,
                {.on_message =
                     [this](const grpc::ByteBuffer& message) {
                       ++count_;
                       received_.Put(NumberOf(message));
                       return absl::OkStatus();
                     },
                 .on_disconnected =
                     [this](const absl::Status& status) {
                       received_.Close(status);
                       ended_.Notify();
                     },
                 .may_read = [this] { return !received_.full(); }},
                [this](grpc::ClientContext* context, auto* reactor) {
                  OpenExchange(channel_, context, reactor);
                }) {}

  absl::StatusOr<int64_t> Read() {
    const auto number = received_.Take(kLong);
    stream_.ReadOn();
    return number;
  }
  void Cancel() { stream_.Cancel(); }
  bool AwaitEnd() { return ended_.WaitForNotificationWithTimeout(kLong); }
  bool full() const { return received_.full(); }
  int received() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
  Mailbox<int64_t> received_{3};
  absl::Notification ended_;
  std::shared_ptr<grpc::Channel> channel_;
  ClientStream<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
};

TEST(SlowReaderTest, AClientWithoutRoomLetsItsServersQueueFill) {
  Loopback server;
  server.behaviour().max_queued = kBound;
  FullClient client(server.address());
  const auto stream = server.NextStream();
  ASSERT_NE(stream, nullptr);
  for (int i = 0; i < 500; ++i) {
    // Until the client has no room its server keeps within its own limit.
    while (!client.full() && stream->queued() + 1 >= kBound) {
      std::this_thread::yield();
    }
    stream->Send(Numbered(i, kLarge));
  }
  EXPECT_EQ(client.received(), 3);
  absl::StatusOr<int64_t> number = client.Read();
  int64_t next = 0;
  for (; number.ok(); number = client.Read()) EXPECT_EQ(*number, next++);
  EXPECT_GE(next, 3);
  EXPECT_LT(next, 500);
  EXPECT_TRUE(absl::IsResourceExhausted(number.status())) << number.status();
}

TEST(SlowReaderTest, AClientEndsAlthoughItDoesNotRead) {
  Loopback server;
  for (const bool cancelled : {false, true}) {
    FullClient client(server.address());
    const auto stream = server.NextStream();
    ASSERT_NE(stream, nullptr);
    for (int i = 0; i < 10; ++i) stream->Send(Numbered(i));
    while (!client.full()) std::this_thread::yield();
    if (!cancelled) continue;  // Its destructor ends it.
    client.Cancel();
    EXPECT_TRUE(client.AwaitEnd());
  }
}

}  // namespace
}  // namespace paceline
