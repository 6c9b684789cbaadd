#include "services/coordinator/sync/core/clocks.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr WorkerId kFast{0};
constexpr WorkerId kSlow{1};
constexpr WorkerId kLate{2};

// kFast at 3, kSlow at 1.
Clocks TwoWorkers() {
  Clocks clocks;
  clocks.Join(kFast);
  clocks.Join(kSlow);
  for (int i = 0; i < 3; ++i) clocks.Advance(kFast);
  clocks.Advance(kSlow);
  return clocks;
}

TEST(ClocksTest, GapIsTheDistanceToTheSmallest) {
  Clocks clocks = TwoWorkers();
  EXPECT_EQ(clocks.Gap(kFast), 2);
  EXPECT_EQ(clocks.Gap(kSlow), 0);
  EXPECT_EQ(clocks.GapAfterAdvance(kFast), 3);
  EXPECT_EQ(clocks.GapAfterAdvance(kSlow), 0);
  EXPECT_EQ(clocks.Advance(kFast), 3);
  EXPECT_EQ(clocks.Min(), 1);
  EXPECT_EQ(clocks.Max(), 4);
}

TEST(ClocksTest, AJoinerStandsBesideTheSlowest) {
  Clocks clocks = TwoWorkers();
  clocks.Join(kLate);
  EXPECT_EQ(clocks.Of(kLate), 1);
}

TEST(ClocksTest, TheLossOfTheSlowestClosesTheGap) {
  Clocks clocks = TwoWorkers();
  clocks.Leave(kSlow);
  EXPECT_EQ(clocks.Gap(kFast), 0);
}

TEST(ClocksTest, IdleCountsForNothing) {
  Clocks clocks = TwoWorkers();
  clocks.SetIdle(kSlow);
  EXPECT_EQ(clocks.Min(), 3);
  clocks.SetIdle(kSlow);
  clocks.SetActive(kSlow);
  EXPECT_EQ(clocks.Of(kSlow), 3) << "it would hold up the others at 1";
  clocks.SetIdle(kFast);
  EXPECT_EQ(clocks.Max(), 3);
}

TEST(ClocksTest, IdleKeepsAClockAboveTheMinimum) {
  Clocks clocks = TwoWorkers();
  clocks.SetIdle(kFast);
  clocks.SetActive(kFast);
  EXPECT_EQ(clocks.Of(kFast), 3);
}

// Otherwise the first one back would stand so far behind the second that the
// second had to wait for it.
TEST(ClocksTest, TheMinimumSurvivesATimeInWhichNobodyCounts) {
  Clocks clocks = TwoWorkers();
  clocks.SetIdle(kSlow);
  clocks.SetIdle(kFast);
  EXPECT_FALSE(clocks.AnyActive());
  clocks.SetActive(kSlow);
  EXPECT_EQ(clocks.Of(kSlow), 3);
  clocks.Join(kLate);
  EXPECT_EQ(clocks.Of(kLate), 3);
}

}  // namespace
}  // namespace paceline
