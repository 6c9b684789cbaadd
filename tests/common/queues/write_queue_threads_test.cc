// A WriteQueue between threads that send and a transport that reports its
// writes from a thread of its own, as gRPC does.

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/mailbox.h"
#include "common/rng.h"
#include "common/rpc/write_queue.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

// Unique pointers, so that ThreadSanitizer sees who owns what.
struct OwnedMessage {
  int sender = 0;
  std::unique_ptr<int> number;
};
using OwnedQueue = WriteQueue<OwnedMessage>;

// Performs steps as a stream does: at most one write at a time, whose end it
// reports on its own thread.
class Transport {
 public:
  explicit Transport(size_t max_messages, int senders)
      : queue_(max_messages), next_(senders), thread_([this] { Run(); }) {}
  ~Transport() { thread_.join(); }

  OwnedQueue& queue() { return queue_; }

  void Perform(OwnedQueue::Step step) {
    if (step.kind == OwnedQueue::Step::Kind::kNone) return;
    EXPECT_EQ(in_flight_.fetch_add(1), 0);
    writes_.Put(std::move(step));
  }

  void AwaitFinish() { finished_.WaitForNotification(); }

  // After the finish.
  int written() const { return written_; }
  const absl::Status& status() const { return status_; }

 private:
  void Run() {
    while (true) {
      auto step = writes_.Take(absl::Minutes(1));
      ASSERT_TRUE(step.ok());
      if (step->kind == OwnedQueue::Step::Kind::kFinish) {
        status_ = step->status;
        finished_.Notify();
        return;
      }
      // In each sender's order, with gaps where the closing dropped some.
      const OwnedMessage& message = *step->message;
      EXPECT_GE(*message.number, next_[message.sender]);
      next_[message.sender] = *message.number + 1;
      ++written_;
      EXPECT_EQ(in_flight_.fetch_sub(1), 1);
      Perform(queue_.Written());
    }
  }

  OwnedQueue queue_;
  Mailbox<OwnedQueue::Step> writes_;
  std::atomic<int> in_flight_ = 0;
  std::vector<int> next_;
  int written_ = 0;
  absl::Status status_;
  absl::Notification finished_;
  std::thread thread_;
};

constexpr int kSenders = 4;
constexpr int kEach = 2'000;

std::vector<std::thread> StartSenders(Transport& transport) {
  std::vector<std::thread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&transport, sender] {
      for (int i = 0; i < kEach; ++i) {
        transport.Perform(
            transport.queue().Send({sender, std::make_unique<int>(i)}));
      }
    });
  }
  return senders;
}

TEST(WriteQueueThreadsTest, EverythingSentIsWrittenBeforeTheFinish) {
  Transport transport(kSenders * kEach, kSenders);
  for (std::thread& sender : StartSenders(transport)) sender.join();
  transport.Perform(transport.queue().Close(absl::OkStatus()));
  transport.AwaitFinish();
  EXPECT_EQ(transport.written(), kSenders * kEach);
  EXPECT_TRUE(transport.status().ok());
}

// Whoever comes when, there is one finish, nothing after it, and never two
// operations at a time.
TEST(WriteQueueThreadsTest, ClosingRacesWithSendersAndAbandoning) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Transport transport(kSenders * kEach, kSenders);
    std::vector<std::thread> threads = StartSenders(transport);
    threads.emplace_back([&transport, seed] {
      Rng rng(seed);
      for (uint64_t i = rng.Below(200); i > 0; --i) std::this_thread::yield();
      transport.Perform(
          transport.queue().Close(absl::AbortedError("declared lost")));
    });
    threads.emplace_back([&transport, seed] {
      Rng rng(~seed);
      for (uint64_t i = rng.Below(200); i > 0; --i) std::this_thread::yield();
      transport.Perform(
          transport.queue().Abandon(absl::AbortedError("declared lost")));
    });
    transport.AwaitFinish();
    EXPECT_TRUE(absl::IsAborted(transport.status()));
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(transport.written(), kSenders * kEach);
  }
}

TEST(WriteQueueThreadsTest, AFullQueueEndsTheStreamOnce) {
  constexpr int kBound = 8;
  WriteQueue<int> queue(kBound);
  std::atomic<int> writes = 0;
  std::vector<std::thread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto step = queue.Send(i);
        if (step.kind != WriteQueue<int>::Step::Kind::kNone) ++writes;
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  // The one write that was begun is never over: the peer does not read.
  EXPECT_EQ(writes.load(), 1);
  EXPECT_TRUE(queue.closed());
  EXPECT_EQ(queue.Written().status.code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace paceline
