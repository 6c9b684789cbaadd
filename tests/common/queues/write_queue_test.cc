#include "common/rpc/write_queue.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace paceline {
namespace {

using Queue = WriteQueue<std::string>;
using Kind = Queue::Step::Kind;

void ExpectNone(const Queue::Step& step) { EXPECT_EQ(step.kind, Kind::kNone); }

void ExpectWrite(const Queue::Step& step, const std::string& message) {
  ASSERT_EQ(step.kind, Kind::kWrite);
  EXPECT_EQ(*step.message, message);
}

void ExpectFinish(const Queue::Step& step, const absl::Status& status) {
  EXPECT_EQ(step.kind, Kind::kFinish);
  EXPECT_EQ(step.status, status);
}

TEST(WriteQueueTest, HandsOutOneWriteAtATime) {
  Queue queue(10);
  ExpectWrite(queue.Send("a"), "a");
  ExpectNone(queue.Send("b"));
  ExpectNone(queue.Send("c"));
  ExpectWrite(queue.Written(), "b");
  ExpectWrite(queue.Written(), "c");
  ExpectNone(queue.Written());
  ExpectWrite(queue.Send("d"), "d");
}

TEST(WriteQueueTest, LittleMayWaitForWhatFollows) {
  constexpr size_t kPart = size_t{24} << 10;  // Three are more than may wait.
  Queue queue(10);
  EXPECT_FALSE(queue.Send("a", 0, kPart).more) << "nothing follows";
  for (const char* message : {"b", "c", "d", "e"}) {
    ExpectNone(queue.Send(message, 0, kPart));
  }
  EXPECT_TRUE(queue.Written().more) << "b";
  EXPECT_TRUE(queue.Written().more) << "c";
  EXPECT_FALSE(queue.Written().more) << "d: it is enough";
  EXPECT_FALSE(queue.Written().more) << "e: nothing follows";
}

TEST(WriteQueueTest, WhatIsUrgentOrLargeTakesAlongWhatWaits) {
  Queue queue(10);
  ExpectWrite(queue.Send("first"), "first");
  ExpectNone(queue.Send("small", 0, 1));
  ExpectNone(queue.Send("urgent"));
  ExpectNone(queue.Send("small", 0, 1));
  ExpectNone(queue.Send("large", 0, size_t{1} << 20));
  ExpectNone(queue.Send("small", 0, 1));
  ExpectNone(queue.Send("last", 0, 1));
  EXPECT_TRUE(queue.Written().more);
  EXPECT_FALSE(queue.Written().more) << "urgent";
  EXPECT_TRUE(queue.Written().more);
  EXPECT_FALSE(queue.Written().more) << "large";
  EXPECT_TRUE(queue.Written().more);
  EXPECT_FALSE(queue.Written().more) << "last";
}

TEST(WriteQueueTest, TheMessageLentOutStaysWhereItIs) {
  Queue queue(1'000);
  const auto lent = queue.Send("lent");
  for (int i = 0; i < 500; ++i) ExpectNone(queue.Send("more"));
  ExpectWrite(lent, "lent");
  ExpectNone(queue.Abandon(absl::UnavailableError("gone")));
  ExpectWrite(lent, "lent");
}

TEST(WriteQueueTest, IsBoundedByBytesToo) {
  Queue queue(1'000, /*max_bytes=*/10);
  ExpectWrite(queue.Send("large", 50), "large");  // Alone it may be.
  ExpectFinish(
      [&] {
        ExpectNone(queue.Send("too much", 1));
        EXPECT_TRUE(queue.closed());
        return queue.Written();
      }(),
      absl::ResourceExhaustedError(
          "the peer does not read: too much waits to be sent to it"));
}

TEST(WriteQueueTest, WhatIsWrittenMakesRoom) {
  Queue queue(1'000, /*max_bytes=*/10);
  ExpectWrite(queue.Send("a", 6), "a");
  ExpectNone(queue.Send("b", 4));
  EXPECT_EQ(queue.size(), 2u);
  ExpectWrite(queue.Written(), "b");
  ExpectNone(queue.Send("c", 6));
  EXPECT_FALSE(queue.closed());
  ExpectNone(queue.Send("d", 1));
  EXPECT_TRUE(queue.closed());
  EXPECT_EQ(queue.size(), 1u) << "only what is lent out";
}

TEST(WriteQueueTest, CloseWithOkSendsWhatIsQueuedFirst) {
  Queue queue(10);
  ExpectWrite(queue.Send("a"), "a");
  ExpectNone(queue.Send("b"));
  EXPECT_FALSE(queue.closed());
  ExpectNone(queue.Close(absl::OkStatus()));
  EXPECT_TRUE(queue.closed());
  ExpectNone(queue.Send("dropped"));
  ExpectWrite(queue.Written(), "b");
  ExpectFinish(queue.Written(), absl::OkStatus());
}

TEST(WriteQueueTest, CloseWithAnErrorDropsWhatIsQueued) {
  Queue queue(10);
  ExpectWrite(queue.Send("a"), "a");
  ExpectNone(queue.Send("b"));
  ExpectNone(queue.Close(absl::AbortedError("fenced")));
  ExpectFinish(queue.Written(), absl::AbortedError("fenced"));
}

TEST(WriteQueueTest, CloseOfAnIdleQueueFinishesAtOnceAndOnlyOnce) {
  Queue queue(10);
  ExpectFinish(queue.Close(absl::OkStatus()), absl::OkStatus());
  ExpectNone(queue.Close(absl::AbortedError("again")));
  ExpectNone(queue.Abandon(absl::CancelledError("again")));
  ExpectNone(queue.Send("late"));
}

TEST(WriteQueueTest, TheFirstStatusWins) {
  Queue queue(10);
  ExpectWrite(queue.Send("a"), "a");
  ExpectNone(queue.Close(absl::AbortedError("first")));
  ExpectNone(queue.Close(absl::InternalError("second")));
  ExpectNone(queue.Abandon(absl::CancelledError("third")));
  ExpectFinish(queue.Written(), absl::AbortedError("first"));
}

TEST(WriteQueueTest, AbandonDropsEvenWhatAClosingWithOkWouldSend) {
  Queue queue(10);
  ExpectWrite(queue.Send("a"), "a");
  ExpectNone(queue.Send("b"));
  ExpectNone(queue.Close(absl::OkStatus()));
  ExpectNone(queue.Abandon(absl::CancelledError("the peer is gone")));
  ExpectFinish(queue.Written(), absl::OkStatus());
}

TEST(WriteQueueTest, AFullQueueClosesItself) {
  Queue queue(2);
  ExpectWrite(queue.Send("a"), "a");
  ExpectNone(queue.Send("b"));
  EXPECT_FALSE(queue.closed());
  ExpectNone(queue.Send("c"));
  EXPECT_TRUE(queue.closed());
  const auto finish = queue.Written();
  EXPECT_EQ(finish.kind, Kind::kFinish);
  EXPECT_EQ(finish.status.code(), absl::StatusCode::kResourceExhausted);
}

TEST(WriteQueueTest, TheMessageBeingWrittenCountsForTheBound) {
  Queue queue(1);
  ExpectWrite(queue.Send("a"), "a");
  ExpectNone(queue.Written());
  ExpectWrite(queue.Send("b"), "b");
  ExpectNone(queue.Send("c"));
  EXPECT_TRUE(queue.closed());
}

TEST(WriteQueueTest, LetsGoOfAMessageWhenItIsWrittenOrDropped) {
  WriteQueue<std::shared_ptr<int>> queue(10);
  const auto first = std::make_shared<int>(1);
  const auto second = std::make_shared<int>(2);
  queue.Send(first);
  queue.Send(second);
  EXPECT_EQ(first.use_count(), 2);
  queue.Written();
  EXPECT_EQ(first.use_count(), 1);
  const auto third = std::make_shared<int>(3);
  queue.Send(third);
  queue.Abandon(absl::CancelledError("gone"));
  EXPECT_EQ(third.use_count(), 1);
  EXPECT_EQ(second.use_count(), 2);  // Still lent out.
  queue.Written();
  EXPECT_EQ(second.use_count(), 1);
}

}  // namespace
}  // namespace paceline
