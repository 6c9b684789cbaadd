#include "services/coordinator/run/course/evaluation_queue.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WorkerId kE{7};
constexpr WorkerId kF{8};

struct Sent {
  WorkerId evaluator;
  int64_t snapshot;
  bool last;
  friend bool operator==(const Sent&, const Sent&) = default;
};

AccuracyPoint Stamp(double seconds) {
  AccuracyPoint stamp;
  stamp.seconds = seconds;
  stamp.version = 10;
  stamp.version_at_completion = 10;
  stamp.samples = 320;
  return stamp;
}

class EvaluationQueueTest : public ::testing::Test {
 protected:
  // What is given out now.
  std::vector<Sent> TakeSent() {
    std::vector<Sent> sent;
    while (const auto task = queue.TakeNext(now_)) {
      sent.push_back({task->evaluator, task->snapshot, task->last});
    }
    return sent;
  }
  void Advance(absl::Duration by) { now_ += by; }
  // Of one trainer, since the beginning.
  bool Admit(bool last) {
    return queue.Admit(last, now_, now_ - absl::UnixEpoch());
  }

  absl::Time now_ = absl::UnixEpoch();
  EvaluationQueue queue{EvaluationQueue::Options()};
};

TEST_F(EvaluationQueueTest, OneThatTakesTooLongIsOverdue) {
  const absl::Duration limit = absl::Seconds(10);
  queue.Add(1, false, Stamp(1));
  queue.Add(2, false, Stamp(2));
  Advance(absl::Minutes(5));
  EXPECT_FALSE(queue.FindOverdue(now_, limit).has_value())
      << "nobody was asked";
  queue.EvaluatorCame(kE);
  TakeSent();
  Advance(limit);
  EXPECT_FALSE(queue.FindOverdue(now_, limit).has_value());
  EXPECT_TRUE(queue.Done(now_, kE, 1, 0.5, 1.5).ok());
  TakeSent();
  Advance(limit);
  EXPECT_FALSE(queue.FindOverdue(now_, limit).has_value())
      << "that is the next one";
  Advance(absl::Seconds(1));
  ASSERT_TRUE(queue.FindOverdue(now_, limit).has_value());
  EXPECT_EQ(queue.FindOverdue(now_, limit)->snapshot, 2);
  EXPECT_EQ(queue.FindOverdue(now_, limit)->evaluator, kE);
  EXPECT_EQ(queue.EvaluatorLeft(kE, true), std::nullopt);
  EXPECT_FALSE(queue.FindOverdue(now_, limit).has_value());
}

TEST_F(EvaluationQueueTest, ASnapshotThatEndsThreeEvaluatorsIsNamed) {
  queue.Add(1, false, Stamp(1));
  for (int i = 0; i < 5; ++i) {
    queue.EvaluatorCame(kE);
    TakeSent();
    EXPECT_EQ(queue.EvaluatorLeft(kE, /*lost=*/false), std::nullopt);
  }
  for (int i = 0; i < 2; ++i) {
    queue.EvaluatorCame(kE);
    TakeSent();
    EXPECT_EQ(queue.EvaluatorLeft(kE, /*lost=*/true), std::nullopt);
  }
  queue.EvaluatorCame(kE);
  TakeSent();
  EXPECT_EQ(queue.EvaluatorLeft(kE, /*lost=*/true), 1);
  EXPECT_EQ(queue.pending(), 1u) << "it is for the caller to drop it";
}

TEST_F(EvaluationQueueTest, SendsOneAtATimeOldestFirst) {
  queue.EvaluatorCame(kE);
  queue.Add(1, false, Stamp(1));
  queue.Add(2, false, Stamp(2));
  queue.Add(3, true, Stamp(3));
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, 1, false}));
  EXPECT_EQ(queue.pending(), 3u);
  EXPECT_TRUE(queue.Done(now_, kE, 1, 0.5, 1.5).ok());
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, 2, false}));
  EXPECT_TRUE(queue.Done(now_, kE, 2, 0.6, 1.4).ok());
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, 3, true}));
  EXPECT_GT(queue.pending(), 0u);
  EXPECT_TRUE(queue.Done(now_, kE, 3, 0.7, 1.3).ok());
  EXPECT_THAT(TakeSent(), IsEmpty());
  EXPECT_EQ(queue.pending(), 0u);
}

TEST_F(EvaluationQueueTest, StampsThePointWithWhenItWasTaken) {
  queue.EvaluatorCame(kE);
  queue.Add(1, false, Stamp(2.5));
  TakeSent();
  queue.Completed(1, 12);
  queue.Completed(99, 13);  // Of none.
  const auto point = queue.Done(now_, kE, 1, 0.75, 0.9);
  ASSERT_TRUE(point.ok());
  EXPECT_EQ(point->seconds, 2.5);
  EXPECT_EQ(point->version, 10);
  EXPECT_EQ(point->version_at_completion, 12);
  EXPECT_EQ(point->samples, 320);
  EXPECT_EQ(point->accuracy, 0.75);
  EXPECT_EQ(point->loss, 0.9);
  ASSERT_EQ(queue.accuracy().size(), 1u);
  EXPECT_EQ(queue.accuracy()[0].accuracy, 0.75);
}

TEST_F(EvaluationQueueTest, DefersUntilItIsOpened) {
  queue = EvaluationQueue({.defer = true});
  queue.EvaluatorCame(kE);
  queue.Add(1, false, Stamp(1));
  queue.Add(2, true, Stamp(2));
  EXPECT_THAT(TakeSent(), IsEmpty());
  EXPECT_EQ(queue.pending(), 2u);
  EXPECT_FALSE(queue.wants_evaluator());
  queue.Open();
  EXPECT_TRUE(queue.wants_evaluator());
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, 1, false}));
  queue.Open();  // Again: nothing is sent twice.
  EXPECT_THAT(TakeSent(), IsEmpty());
}

TEST_F(EvaluationQueueTest, WaitsForAnEvaluator) {
  EXPECT_FALSE(queue.has_evaluator());
  EXPECT_FALSE(queue.wants_evaluator());
  queue.Add(1, false, Stamp(1));
  EXPECT_TRUE(queue.wants_evaluator());
  EXPECT_THAT(TakeSent(), IsEmpty());
  queue.EvaluatorCame(kE);
  EXPECT_TRUE(queue.has_evaluator());
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, 1, false}));
}

TEST_F(EvaluationQueueTest, ALostEvaluatorsTaskGoesToTheNext) {
  queue.EvaluatorCame(kE);
  queue.Add(1, false, Stamp(1));
  queue.Add(2, false, Stamp(2));
  TakeSent();
  EXPECT_EQ(queue.EvaluatorLeft(kE, true), std::nullopt);
  EXPECT_FALSE(queue.has_evaluator());
  // What the lost one still says does not count.
  EXPECT_TRUE(
      absl::IsFailedPrecondition(queue.Done(now_, kE, 1, 1, 0).status()));
  queue.EvaluatorCame(kF);
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kF, 1, false}));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(queue.Done(now_, kE, 1, 1, 0).status()));
  EXPECT_TRUE(queue.Done(now_, kF, 1, 0.5, 1).ok());
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kF, 2, false}));
  // Somebody else's leaving changes nothing.
  EXPECT_EQ(queue.EvaluatorLeft(kE, true), std::nullopt);
  EXPECT_TRUE(queue.has_evaluator());
  EXPECT_TRUE(queue.Done(now_, kF, 2, 0.5, 1).ok());
}

TEST_F(EvaluationQueueTest, WhatIsDroppedMakesWayForTheNext) {
  queue.EvaluatorCame(kE);
  queue.Add(1, false, Stamp(1));
  queue.Add(2, false, Stamp(2));
  queue.Add(3, true, Stamp(3));
  TakeSent();
  EXPECT_THAT(queue.Drop(1, false), ElementsAre(1)) << "in hand";
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, 2, false}));
  EXPECT_THAT(queue.Drop(1, false), IsEmpty()) << "it is not there any more";
  EXPECT_THAT(queue.Drop(3, false), ElementsAre(3));
  EXPECT_THAT(TakeSent(), IsEmpty());
  EXPECT_TRUE(queue.Done(now_, kE, 2, 0.5, 1).ok());
  EXPECT_EQ(queue.pending(), 0u);
}

// The servers have no room left: the whole course is kept, at half the points.
TEST_F(EvaluationQueueTest, IsThinnedWhereThereIsNoRoom) {
  queue = EvaluationQueue({.defer = true});
  for (int64_t i = 1; i <= 8; ++i) {
    EXPECT_TRUE(Admit(false));
    queue.Add(i, false, Stamp(1));
  }
  EXPECT_THAT(queue.Drop(8, true), ElementsAre(8, 1, 3, 5, 7));
  EXPECT_EQ(queue.stride(), 2);
  EXPECT_FALSE(Admit(false));  // 9
  EXPECT_TRUE(Admit(false));
  queue.Add(10, false, Stamp(1));
  EXPECT_FALSE(Admit(false));
  EXPECT_TRUE(Admit(true)) << "the last one is always taken";
  queue.Add(12, true, Stamp(1));
  EXPECT_THAT(queue.Drop(12, true), ElementsAre(12, 2, 6, 10));
  EXPECT_EQ(queue.stride(), 4);
  EXPECT_EQ(queue.pending(), 1u);
}

// Several are on their way when the room ends, and all of them are refused.
TEST_F(EvaluationQueueTest, IsThinnedOncePerShortage) {
  queue = EvaluationQueue({.defer = true});
  for (int64_t i = 1; i <= 12; ++i) {
    EXPECT_TRUE(Admit(false));
    queue.Add(i, false, Stamp(1));
  }
  EXPECT_THAT(queue.Drop(9, true), ElementsAre(9, 1, 3, 5, 7, 11));
  EXPECT_THAT(queue.Drop(10, true), ElementsAre(10));
  EXPECT_THAT(queue.Drop(11, true), IsEmpty());
  EXPECT_EQ(queue.stride(), 2);
}

TEST_F(EvaluationQueueTest, ThinningSparesWhatIsInHandAndTheLast) {
  queue.EvaluatorCame(kE);
  for (int64_t i = 1; i <= 5; ++i) {
    EXPECT_TRUE(Admit(i == 5));
    queue.Add(i, i == 5, Stamp(1));
  }
  TakeSent();
  EXPECT_THAT(queue.Drop(4, true), ElementsAre(4, 3));
  EXPECT_TRUE(queue.Done(now_, kE, 1, 0.5, 1).ok());
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, 2, false}));
  EXPECT_TRUE(queue.Done(now_, kE, 2, 0.5, 1).ok());
  EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, 5, true}));
}

// Each takes two seconds, and a snapshot is due every second.
TEST_F(EvaluationQueueTest, TakesItsShareOfTheTraining) {
  queue = EvaluationQueue({.share = 0.1});
  queue.EvaluatorCame(kE);
  std::vector<int64_t> taken;
  absl::Time ends = absl::InfiniteFuture();
  for (int64_t second = 1; second <= 100; ++second) {
    Advance(absl::Seconds(1));
    if (now_ >= ends) {
      EXPECT_TRUE(queue.Done(now_, kE, taken.back(), 0.5, 1).ok());
      ends = absl::InfiniteFuture();
    }
    if (!Admit(false)) continue;
    taken.push_back(second);
    queue.Add(second, false, Stamp(1));
    EXPECT_THAT(TakeSent(), ElementsAre(Sent{kE, second, false}));
    ends = now_ + absl::Seconds(2);
  }
  EXPECT_THAT(taken, ElementsAre(1, 40, 60, 80, 100));
  EXPECT_FALSE(Admit(false));
  EXPECT_TRUE(Admit(true)) << "the last one is always taken";
}

// It takes as long as it has taken until now; two would take twice as long.
TEST_F(EvaluationQueueTest, TheFirstEvaluationHoldsUpTheNextSnapshots) {
  queue = EvaluationQueue({.share = 0.5});
  queue.EvaluatorCame(kE);
  EXPECT_TRUE(Admit(false));
  queue.Add(1, false, Stamp(1));
  EXPECT_TRUE(Admit(false)) << "it may take no time at all";
  TakeSent();
  Advance(absl::Seconds(10));
  EXPECT_FALSE(Admit(false));
  EXPECT_TRUE(queue.Done(now_, kE, 1, 0.5, 1).ok());
  Advance(absl::Seconds(29));
  EXPECT_FALSE(Admit(false));
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Admit(false)) << "20 of 40 seconds";
}

TEST_F(EvaluationQueueTest, WhatComesAfterTheTrainingIsNotBounded) {
  queue = EvaluationQueue({.defer = true, .share = 0.01});
  for (int64_t i = 1; i <= 8; ++i) {
    EXPECT_TRUE(Admit(false));
    queue.Add(i, false, Stamp(1));
  }
}

TEST_F(EvaluationQueueTest, RefusesAnswersToWhatWasNotAsked) {
  const auto refused = [&](WorkerId evaluator, int64_t snapshot) {
    return absl::IsFailedPrecondition(
        queue.Done(now_, evaluator, snapshot, 1, 0).status());
  };
  EXPECT_TRUE(refused(kE, 1));  // No evaluator, no task.
  queue.EvaluatorCame(kE);
  EXPECT_TRUE(refused(kE, 1));
  queue.Add(1, false, Stamp(1));
  queue.Add(2, false, Stamp(2));
  TakeSent();
  EXPECT_TRUE(refused(kE, 2));  // Not its turn.
  EXPECT_TRUE(refused(kF, 1));  // Not that one's.
  EXPECT_TRUE(queue.Done(now_, kE, 1, 0.5, 1).ok());
  EXPECT_TRUE(refused(kE, 1));  // Again.
  EXPECT_EQ(queue.pending(), 1u);
  EXPECT_EQ(queue.accuracy().size(), 1u);
}

}  // namespace
}  // namespace paceline
