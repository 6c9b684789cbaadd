// A peer that does not read must cost a bounded queue, not the memory.

#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
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

}  // namespace
}  // namespace paceline
