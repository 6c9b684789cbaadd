#include "services/coordinator/sync/paradigms/busy_times.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr WorkerId kA{1};
constexpr WorkerId kB{2};

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

TEST(BusyTimesTest, IsAMeanInWhichTheLatestCountsAlpha) {
  BusyTimes times(0.25);
  EXPECT_EQ(times.Of(kA), std::nullopt);
  times.Released(At(0), kA);
  EXPECT_EQ(times.Of(kA), std::nullopt);
  times.Pushed(At(2), kA, 1);
  EXPECT_DOUBLE_EQ(*times.Of(kA), 2);
  // It waited until 5.
  times.Released(At(5), kA);
  times.Pushed(At(11), kA, 1);
  EXPECT_DOUBLE_EQ(*times.Of(kA), 3);
  EXPECT_EQ(times.Of(kB), std::nullopt);
}

TEST(BusyTimesTest, MeasuresOnlyWhatBeganHereAndWasPushed) {
  BusyTimes times(1);
  times.Pushed(At(1), kA, 1);
  EXPECT_EQ(times.Of(kA), std::nullopt);
  times.Released(At(1), kA);
  times.Dropped(kA);
  times.Pushed(At(9), kA, 1);
  EXPECT_EQ(times.Of(kA), std::nullopt);
  times.Dropped(kB);
  times.Forget(kB);
}

TEST(BusyTimesTest, WhatIsAssumedCountsAsAMeasurement) {
  BusyTimes times(0.25);
  times.Assume(kA, 2);
  EXPECT_DOUBLE_EQ(*times.Of(kA), 2);
  times.Pushed(At(1), kA, 1);
  EXPECT_DOUBLE_EQ(*times.Of(kA), 2);
  times.Released(At(5), kA);
  times.Pushed(At(11), kA, 1);
  EXPECT_DOUBLE_EQ(*times.Of(kA), 3);
}

TEST(BusyTimesTest, IsNeverZero) {
  BusyTimes times(0.3);
  times.Released(At(1), kA);
  times.Pushed(At(1), kA, 1);
  EXPECT_GT(*times.Of(kA), 0);
}

TEST(BusyTimesTest, ForgetsWhoIsGone) {
  BusyTimes times(0.3);
  times.Released(At(1), kA);
  times.Pushed(At(2), kA, 1);
  times.Forget(kA);
  EXPECT_EQ(times.Of(kA), std::nullopt);
}

TEST(BusyTimesTest, AShortRangeCountsInProportionOrNotAtAll) {
  BusyTimes times(/*alpha=*/1);
  times.Released(At(0), kA);
  times.Pushed(At(3), kA, 0.75);
  EXPECT_EQ(times.Of(kA), 4);
  for (const double share : {0.25, 0.0}) {
    times.Released(At(10), kA);
    times.Pushed(At(11), kA, share);
    EXPECT_EQ(times.Of(kA), 4);
  }
}

}  // namespace
}  // namespace paceline
