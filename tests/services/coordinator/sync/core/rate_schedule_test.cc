#include "services/coordinator/sync/core/rate_schedule.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(RateScheduleTest, IsConstantUnlessToldOtherwise) {
  EXPECT_EQ(RateSchedule().RateAt(0), 0.01);
  EXPECT_EQ(RateSchedule(0.5).RateAt(1000000), 0.5);
}

TEST(RateScheduleTest, StepsAtSharesOfAllSamples) {
  const absl::StatusOr<RateSpec> spec =
      ParseRateSpec("step:at=0.5|0.75,factor=0.1");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const RateSchedule schedule(1.0, *spec, 1000);
  EXPECT_EQ(schedule.RateAt(0), 1.0);
  EXPECT_EQ(schedule.RateAt(499), 1.0);
  EXPECT_EQ(schedule.RateAt(500), 0.1);
  EXPECT_EQ(schedule.RateAt(749), 0.1);
  EXPECT_DOUBLE_EQ(schedule.RateAt(750), 0.01);
  EXPECT_DOUBLE_EQ(schedule.RateAt(5000), 0.01);
}

TEST(RateScheduleTest, WarmsUpLinearly) {
  const RateSchedule schedule(2.0, RateSpec{.at = {}, .warmup = 0.1}, 1000);
  EXPECT_DOUBLE_EQ(schedule.RateAt(0), 0.2);
  EXPECT_DOUBLE_EQ(schedule.RateAt(50), 1.1);
  EXPECT_EQ(schedule.RateAt(100), 2.0);
  EXPECT_EQ(schedule.RateAt(1000), 2.0);
}

TEST(RateScheduleTest, StepsAlsoWhileItWarmsUp) {
  const RateSchedule schedule(
      1.0, RateSpec{.at = {0.25}, .factor = 0.5, .warmup = 0.5}, 100);
  EXPECT_DOUBLE_EQ(schedule.RateAt(24), 0.1 + 0.9 * 0.48);
  EXPECT_DOUBLE_EQ(schedule.RateAt(25), 0.5 * (0.1 + 0.9 * 0.5));
  EXPECT_EQ(schedule.RateAt(50), 0.5);
}

}  // namespace
}  // namespace paceline
