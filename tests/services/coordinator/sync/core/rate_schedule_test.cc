#include "services/coordinator/sync/core/rate_schedule.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(RateScheduleTest, IsConstantUnlessToldOtherwise) {
  EXPECT_EQ(RateSchedule().RateAt(0, 0), 0.01);
  EXPECT_EQ(RateSchedule(0.5).RateAt(1000000, 0), 0.5);
}

TEST(RateScheduleTest, StepsAtSharesOfAllSamples) {
  const absl::StatusOr<RateSpec> spec =
      ParseRateSpec("step:at=0.5|0.75,factor=0.1");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const RateSchedule schedule(1.0, *spec, 1000);
  EXPECT_EQ(schedule.RateAt(0, 0), 1.0);
  EXPECT_EQ(schedule.RateAt(499, 0), 1.0);
  EXPECT_EQ(schedule.RateAt(500, 0), 0.1);
  EXPECT_EQ(schedule.RateAt(749, 0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.RateAt(750, 0), 0.01);
  EXPECT_DOUBLE_EQ(schedule.RateAt(5000, 0), 0.01);
}

TEST(RateScheduleTest, WarmsUpLinearly) {
  const RateSchedule schedule(2.0, RateSpec{.at = {}, .warmup = 0.1}, 1000);
  EXPECT_DOUBLE_EQ(schedule.RateAt(0, 0), 0.2);
  EXPECT_DOUBLE_EQ(schedule.RateAt(50, 0), 1.1);
  EXPECT_EQ(schedule.RateAt(100, 0), 2.0);
  EXPECT_EQ(schedule.RateAt(1000, 0), 2.0);
}

TEST(RateScheduleTest, StepsAlsoWhileItWarmsUp) {
  const RateSchedule schedule(
      1.0, RateSpec{.at = {0.25}, .factor = 0.5, .warmup = 0.5}, 100);
  EXPECT_DOUBLE_EQ(schedule.RateAt(24, 0), 0.1 + 0.9 * 0.48);
  EXPECT_DOUBLE_EQ(schedule.RateAt(25, 0), 0.5 * (0.1 + 0.9 * 0.5));
  EXPECT_EQ(schedule.RateAt(50, 0), 0.5);
}

TEST(RateScheduleTest, CountsFullBatchesAsUpdatesIfToldSo) {
  const absl::StatusOr<RateSpec> spec =
      ParseRateSpec("step:at=0.5,factor=0.1,warmup=0.1,count=updates");
  ASSERT_TRUE(spec.ok()) << spec.status();
  // 1,000 samples are 50 updates of 20.
  const RateSchedule schedule(1.0, *spec, 1000, 20);
  EXPECT_DOUBLE_EQ(schedule.RateAt(0, 0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.RateAt(900, 1), 0.28);
  EXPECT_EQ(schedule.RateAt(100, 5), 1.0);
  // Samples do not matter.
  EXPECT_EQ(schedule.RateAt(999, 24), 1.0);
  EXPECT_EQ(schedule.RateAt(0, 25), 0.1);
  EXPECT_EQ(schedule.RateAt(1000, 1'000'000), 0.1);
}

}  // namespace
}  // namespace paceline
