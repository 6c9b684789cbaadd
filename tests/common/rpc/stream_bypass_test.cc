// Streams whose messages go by a socket from some message on.

#include "common/rpc/stream_bypass.h"

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "common/lane/message_socket.h"
#include "gtest/gtest.h"
#include "tests/common/open_descriptors.h"
#include "tests/common/rpc/loopback.h"
#include "tests/common/security/eventually.h"

namespace paceline {
namespace {

// Each end's last message by gRPC.
constexpr int64_t kLast = 1'000'000;
constexpr size_t kMebibyte = size_t{1} << 20;

// A server that sends back what it gets, and a client.
class StreamBypassTest : public testing::Test {
 protected:
  StreamBypassTest() {
    server_.behaviour().may_read = [this] { return may_read_.load(); };
    server_.behaviour().received = [this](TestStream& stream,
                                          const grpc::ByteBuffer& message) {
      const int64_t number = NumberOf(message);
      if (number == refused_) return absl::AbortedError("fenced");
      if (number == kLast) {
        if (stream.bypassed()) return stream.ReadBypass();
      } else {
        stream.Send(message);
      }
      return absl::OkStatus();
    };
  }

  void Connect() {
    auto pair = MessageSocket::Pair();
    ASSERT_TRUE(pair.ok()) << pair.status();
    ends_ = {MessageSocket::PartsOf(std::move((*pair)[0])),
             MessageSocket::PartsOf(std::move((*pair)[1]))};
    client_ = std::make_unique<TestClient>(
        server_.address(), ChannelProfile::kBulk,
        [this](const grpc::ByteBuffer& message) {
          const int64_t number = NumberOf(message);
          if (number == kLast) BypassClient();
          return number == client_refuses_ ? absl::DataLossError("not that")
                                           : absl::OkStatus();
        },
        [this] { return client_may_read_.load(); });
    {
      absl::MutexLock lock(&mu_);
      open_ = client_.get();
    }
    stream_ = server_.NextStream();
    ASSERT_NE(stream_, nullptr);
  }
  void BypassClient() {
    absl::MutexLock lock(&mu_);
    if (open_ == nullptr) return;
    open_->stream().Bypass(std::move(ends_[1]), Numbered(kLast));
  }
  // Nothing uses what a test has on its stack any more.
  void Drop() {
    {
      absl::MutexLock lock(&mu_);
      open_ = nullptr;
    }
    client_.reset();
    stream_.reset();
    EXPECT_TRUE(server_.registry().AwaitEmpty(kLong));
  }
  void TearDown() override { Drop(); }
  // From now on the server's messages go by the socket, and the client's soon.
  void Bypass() { stream_->Bypass(std::move(ends_[0]), Numbered(kLast)); }
  void ConnectBypassed() {
    Connect();
    Bypass();
    ASSERT_EQ(client_->Next(), kLast);
    client_->stream().Send(Numbered(-2));
    ASSERT_EQ(client_->Next(), -2);
  }
  // The numbers come back, the last message of the server by gRPC left out.
  void ExpectNumbers(int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end;) {
      const int64_t got = client_->Next();
      if (got == kLast) continue;
      ASSERT_EQ(got, number++);
    }
  }

  Loopback server_{ChannelProfile::kBulk};
  std::atomic<int64_t> refused_ = -1;
  std::atomic<int64_t> client_refuses_ = -1;
  std::atomic<bool> may_read_ = true;
  std::atomic<bool> client_may_read_ = true;
  std::array<MessageSocket::Parts, 2> ends_;  // The server's, the client's.
  std::unique_ptr<TestClient> client_;
  absl::Mutex mu_;
  TestClient* open_ ABSL_GUARDED_BY(mu_) =
      nullptr;  // The client, until it goes.
  std::shared_ptr<TestStream> stream_;
};

TEST_F(StreamBypassTest, MessagesStayInOrderWhileTheirWayChanges) {
  for (int round = 0; round < 20; ++round) {
    Connect();
    std::thread sender([&] {
      for (int64_t i = 0; i < 500; ++i) client_->stream().Send(Numbered(i));
    });
    std::thread changer([&] {
      while (stream_->queued() > 1) std::this_thread::yield();
      Bypass();
    });
    ExpectNumbers(0, 500);
    sender.join();
    changer.join();
    Drop();
  }
}

TEST_F(StreamBypassTest, LargeMessagesWaitForRoom) {
  ConnectBypassed();
  for (int64_t i = 0; i < 50; ++i) {
    client_->stream().Send(Numbered(i, i % 3 == 0 ? kMebibyte : 10));
  }
  ExpectNumbers(0, 50);
}

TEST_F(StreamBypassTest, TheServersStatusEndsTheStream) {
  ConnectBypassed();
  refused_ = 3;
  for (int64_t i = 0; i < 10; ++i) client_->stream().Send(Numbered(i));
  EXPECT_EQ(client_->AwaitEnd(), absl::AbortedError("fenced"));
  EXPECT_TRUE(
      Eventually([&] { return server_.behaviour().ended.load() == 1; }));
}

TEST_F(StreamBypassTest, TheClientMayRefuseAMessage) {
  ConnectBypassed();
  client_refuses_ = 5;
  for (int64_t i = 0; i < 10; ++i) client_->stream().Send(Numbered(i));
  EXPECT_EQ(client_->AwaitEnd(), absl::DataLossError("not that"));
}

// The server keeps to no rules: it goes on by gRPC.
TEST_F(StreamBypassTest, AMessageByGrpcAfterTheLastEndsTheStream) {
  Connect();
  client_refuses_ = -1;
  stream_->Send(Numbered(kLast));  // It has not left gRPC itself.
  ASSERT_EQ(client_->Next(), kLast);
  stream_->Send(Numbered(1));
  EXPECT_TRUE(absl::IsInvalidArgument(client_->AwaitEnd()));
  EXPECT_TRUE(server_.registry().AwaitEmpty(kLong));
}

TEST_F(StreamBypassTest, AClosedServerEndsTheStream) {
  ConnectBypassed();
  server_.registry().CloseAll(absl::UnavailableError("the server is stopping"));
  EXPECT_EQ(client_->AwaitEnd(),
            absl::UnavailableError("the server is stopping"));
}

// One that does not read must not keep the stream from its end.
TEST_F(StreamBypassTest, AStreamEndsThoughMessagesWait) {
  for (const bool by_client : {false, true}) {
    ConnectBypassed();
    may_read_ = false;
    for (int64_t i = 0; i < 20; ++i) {
      client_->stream().Send(Numbered(i, kMebibyte));
    }
    if (!by_client) {
      stream_->Close(absl::UnavailableError("enough"));
      EXPECT_EQ(client_->AwaitEnd(), absl::UnavailableError("enough"));
      EXPECT_TRUE(server_.registry().AwaitEmpty(kLong));
    }
    Drop();
    may_read_ = true;
  }
}

TEST_F(StreamBypassTest, TheServerReadsOnWhenItMay) {
  ConnectBypassed();
  for (int round = 0; round < 100; ++round) {
    // It reads one more at most.
    may_read_ = false;
    for (int64_t i = 0; i < 3; ++i) client_->stream().Send(Numbered(i));
    may_read_ = true;
    stream_->ReadOn();
    ExpectNumbers(0, 3);
  }
}

TEST_F(StreamBypassTest, TheClientReadsOnWhenItMay) {
  ConnectBypassed();
  for (int round = 0; round < 100; ++round) {
    // It reads one more at most.
    client_may_read_ = false;
    for (int64_t i = 0; i < 3; ++i) stream_->Send(Numbered(i));
    client_may_read_ = true;
    client_->stream().ReadOn();
    ExpectNumbers(0, 3);
  }
  client_may_read_ = false;  // And ends while it does not read.
}

TEST_F(StreamBypassTest, ManyThreadsMaySend) {
  ConnectBypassed();
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        client_->stream().Send(
            Numbered(t * kEach + i, i % 50 == 0 ? 50'000 : 0));
      }
    });
  }
  std::vector<int64_t> next(kThreads);
  for (int i = 0; i < kThreads * kEach; ++i) {
    const int64_t number = client_->Next();
    EXPECT_EQ(number % kEach, next.at(number / kEach)++);
  }
  for (std::thread& thread : threads) thread.join();
}

// Who fills the queue to some length, and goes on when there is room, beside
// somebody whose message happens to be on its way.
TEST_F(StreamBypassTest, WhoWaitsForRoomIsToldOfIt) {
  constexpr int64_t kPaced = 2000;
  constexpr size_t kAhead = 4;
  absl::Mutex mu;
  int64_t next = kPaced;
  const auto go_on = [&](TestStream& stream) {
    absl::MutexLock lock(&mu);
    while (next < kPaced && stream.queued() < kAhead) {
      stream.Send(Numbered(next++));
    }
  };
  server_.behaviour().sent = go_on;
  ConnectBypassed();
  for (int round = 0; round < 8; ++round) {
    std::atomic<bool> over = false;
    std::atomic<int64_t> others = 0;
    std::thread other([&] {
      while (!over) {
        if (stream_->queued() < 100) {
          stream_->Send(Numbered(kPaced + others++));
        }
        std::this_thread::yield();
      }
    });
    {
      absl::MutexLock lock(&mu);
      next = 0;
    }
    go_on(*stream_);
    for (int64_t number = 0; number < kPaced;) {
      const int64_t got = client_->Next();
      ASSERT_NE(got, -1) << "after " << number;
      if (got < kPaced) {
        ASSERT_EQ(got, number++);
      }
      over = number == kPaced;
    }
    other.join();
    client_->stream().Send(Numbered(-3));
    while (client_->Next() != -3) {
    }
  }
  Drop();
}

TEST_F(StreamBypassTest, NothingIsLeftOfFiftyLives) {
  ConnectBypassed();
  Drop();
  const size_t before = OpenDescriptors();
  for (int life = 0; life < 50; ++life) {
    Connect();
    Bypass();
    for (int64_t i = 0; i < life; ++i) {
      client_->stream().Send(Numbered(i, i % 9 == 0 ? kMebibyte : 0));
    }
    if (life % 2 == 0) ExpectNumbers(0, life / 2);
    if (life % 3 == 0) stream_->Close(absl::UnavailableError("enough"));
    Drop();
  }
  EXPECT_LE(AwaitDescriptors(before), before);
}

}  // namespace
}  // namespace paceline
