#include "services/coordinator/run/course/result_saving.h"

#include "gtest/gtest.h"
#include "services/coordinator/run/course/time_limits.h"

namespace paceline {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

absl::Status Full() { return absl::ResourceExhaustedError("full"); }

void Fail(ResultSaving& saving, absl::Time now) {
  saving.Begin();
  saving.Failed(now, Full(), /*of_turn=*/true);
}

TEST(ResultSavingTest, TheFirstIsDueAtOnce) {
  const ResultSaving saving(1);
  EXPECT_LT(saving.next_try(), kNow);
  EXPECT_EQ(saving.folder(), 0u);
  EXPECT_EQ(saving.tries(), 0);
  EXPECT_TRUE(saving.failure().ok());
}

TEST(ResultSavingTest, EachTurnWaitsTwiceAsLongUpToTheMost) {
  ResultSaving saving(1);
  absl::Duration wanted = kSavingRetryMin;
  for (int i = 0; i < 10; ++i) {
    Fail(saving, kNow);
    EXPECT_EQ(saving.next_try() - kNow, wanted) << i;
    wanted = std::min(2 * wanted, kSavingRetryMax);
  }
  EXPECT_EQ(saving.next_try() - kNow, kSavingRetryMax);
  EXPECT_EQ(saving.tries(), 10);
  EXPECT_EQ(saving.failure(), Full());
  EXPECT_FALSE(saving.saved());
}

TEST(ResultSavingTest, FoldersTakeTurnsWithoutAWaitBetweenThem) {
  ResultSaving saving(3);
  for (const size_t next : {1, 2}) {
    Fail(saving, kNow);
    EXPECT_EQ(saving.folder(), next);
    EXPECT_EQ(saving.next_try(), kNow);
  }
  Fail(saving, kNow);
  EXPECT_EQ(saving.folder(), 0u);
  EXPECT_EQ(saving.next_try(), kNow + kSavingRetryMin);
}

TEST(ResultSavingTest, OneThatWasOrderedLeavesTheTurnAlone) {
  ResultSaving saving(2);
  Fail(saving, kNow);
  Fail(saving, kNow);
  const absl::Time next = saving.next_try();
  saving.Begin();
  saving.Failed(kNow, Full(), /*of_turn=*/false);
  EXPECT_EQ(saving.next_try(), next);
  EXPECT_EQ(saving.folder(), 0u);
  EXPECT_EQ(saving.tries(), 3);
}

TEST(ResultSavingTest, WhoIsInAHurryBeginsAnew) {
  ResultSaving saving(1);
  for (int i = 0; i < 10; ++i) Fail(saving, kNow);
  saving.TryNow(kNow);
  EXPECT_EQ(saving.next_try(), kNow);
  Fail(saving, kNow);
  EXPECT_EQ(saving.next_try(), kNow + kSavingRetryMin);
}

TEST(ResultSavingTest, OneIsEnough) {
  ResultSaving saving(1);
  Fail(saving, kNow);
  saving.Begin();
  saving.Succeeded();
  EXPECT_TRUE(saving.saved());
  EXPECT_EQ(saving.tries(), 2);
}

}  // namespace
}  // namespace paceline
