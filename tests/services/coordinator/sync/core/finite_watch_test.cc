#include "services/coordinator/sync/core/finite_watch.h"

#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "tests/services/coordinator/sync/core/workers_and_times.h"

namespace paceline {
namespace {

using Verdict = FiniteWatch::Verdict;

// Workers that push at once what they were granted before.
class FiniteWatchTest : public testing::Test {
 protected:
  void Join(std::initializer_list<WorkerId> workers) {
    for (const WorkerId worker : workers) watch_.Join(worker);
  }
  // Granted `took` before now, which is a second later each time.
  Verdict Push(WorkerId worker, bool finite,
               absl::Duration took = absl::ZeroDuration()) {
    now_ += absl::Seconds(1);
    return watch_.Pushed(now_, now_ - took, worker, finite);
  }

  FiniteWatch watch_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(FiniteWatchTest, WhoAloneFailsThreeTimesIsToBlame) {
  Join({kA, kB});
  EXPECT_EQ(Push(kA, false), Verdict::kNone);
  EXPECT_EQ(Push(kB, true), Verdict::kNone);
  EXPECT_EQ(Push(kA, false), Verdict::kNone);
  EXPECT_EQ(Push(kA, false), Verdict::kWorker);
}

TEST_F(FiniteWatchTest, OneThatIsFiniteInBetweenStartsAnew) {
  Join({kA, kB});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Push(kB, true), Verdict::kNone);
    EXPECT_EQ(Push(kA, false), Verdict::kNone);
    EXPECT_EQ(Push(kA, false), Verdict::kNone);
    EXPECT_EQ(Push(kA, true), Verdict::kNone);
  }
}

TEST_F(FiniteWatchTest, OldWeightsOfOthersProveNothing) {
  Join({kA, kB});
  EXPECT_EQ(Push(kA, false), Verdict::kNone);
  EXPECT_EQ(Push(kA, false), Verdict::kNone);
  // Granted before the trouble began: the weights were good then.
  EXPECT_EQ(Push(kB, true, absl::Seconds(10)), Verdict::kNone);
  EXPECT_EQ(Push(kA, false), Verdict::kNone);
  EXPECT_EQ(Push(kB, true), Verdict::kNone);
  EXPECT_EQ(Push(kA, false), Verdict::kWorker);
}

TEST_F(FiniteWatchTest, AFastWorkerAloneDoesNotEndTheJob) {
  Join({kA, kB});
  for (int i = 0; i < 200; ++i) EXPECT_EQ(Push(kA, false), Verdict::kNone);
  EXPECT_EQ(Push(kB, true), Verdict::kNone);
  EXPECT_EQ(Push(kA, false), Verdict::kWorker);
}

TEST_F(FiniteWatchTest, TenInARowEndTheJob) {
  for (const bool alone : {true, false}) {
    SCOPED_TRACE(alone);
    watch_ = FiniteWatch();
    watch_.Join(kA);
    if (!alone) watch_.Join(kB);
    for (int i = 1; i < FiniteWatch::kJobInARow; ++i) {
      EXPECT_EQ(Push(alone || i % 2 == 0 ? kA : kB, false), Verdict::kNone);
    }
    EXPECT_EQ(Push(kA, false), Verdict::kJob);
    EXPECT_EQ(watch_.in_a_row(), FiniteWatch::kJobInARow);
  }
}

TEST_F(FiniteWatchTest, ManyWorkersFailThreeTimesEach) {
  constexpr uint32_t kWorkers = 8;
  for (uint32_t i = 0; i < kWorkers; ++i) watch_.Join(WorkerId{i});
  for (uint32_t i = 0; i < 3 * kWorkers - 1; ++i) {
    EXPECT_EQ(Push(WorkerId{i % kWorkers}, false), Verdict::kNone);
  }
  EXPECT_EQ(Push(WorkerId{kWorkers - 1}, false), Verdict::kJob);
}

TEST_F(FiniteWatchTest, MostOfTheLatestEndTheJobToo) {
  Join({kA, kB, kC});
  Verdict verdict = Verdict::kNone;
  int pushes = 0;
  // Never three in a row of one worker, and two of three are not finite.
  while (verdict == Verdict::kNone && pushes < 300) {
    const int turn = pushes++ % 9;
    verdict = Push(WorkerId{static_cast<uint32_t>(turn % 3)},
                   /*finite=*/turn / 3 == 2);
  }
  EXPECT_EQ(verdict, Verdict::kJob);
  EXPECT_EQ(watch_.in_window(), FiniteWatch::kMost);
  EXPECT_LT(pushes, 100);
}

TEST_F(FiniteWatchTest, OneInFortyHarmsNobody) {
  Join({kA, kB});
  for (int i = 0; i < 4'000; ++i) {
    ASSERT_EQ(Push(i % 2 == 0 ? kA : kB, i % 40 != 0), Verdict::kNone);
  }
}

TEST_F(FiniteWatchTest, WhoIsGoneIsNotCounted) {
  Join({kA, kB});
  for (int i = 0; i < 9; ++i) EXPECT_EQ(Push(kA, false), Verdict::kNone);
  watch_.Leave(kA);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Push(kB, true), Verdict::kNone);
}

}  // namespace
}  // namespace paceline
