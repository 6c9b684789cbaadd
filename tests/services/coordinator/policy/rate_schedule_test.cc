#include "services/coordinator/policy/rate_schedule.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST(ParseRateSpecTest, ReadsEveryParameter) {
  const absl::StatusOr<RateSpec> step =
      ParseRateSpec("step:warmup=0.05,factor=0.2,at=0.3|0.6|0.9");
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_THAT(step->at, ElementsAre(0.3, 0.6, 0.9));
  EXPECT_EQ(step->factor, 0.2);
  EXPECT_EQ(step->warmup, 0.05);

  const absl::StatusOr<RateSpec> constant = ParseRateSpec("constant");
  ASSERT_TRUE(constant.ok()) << constant.status();
  EXPECT_THAT(constant->at, ElementsAre());
  EXPECT_EQ(ParseRateSpec("step:at=0.5")->factor, 0.1);
  EXPECT_EQ(ParseRateSpec("constant:warmup=0.25")->warmup, 0.25);
}

struct BadSpec {
  std::string text;
  std::string message;
};

class BadRateSpecTest : public testing::TestWithParam<BadSpec> {};

TEST_P(BadRateSpecTest, IsRefusedWithAReason) {
  const absl::Status status = ParseRateSpec(GetParam().text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRateSpecTest,
    testing::Values(
        BadSpec{"", "there are constant, step"},
        BadSpec{"cosine", "there are constant, step"},
        BadSpec{"step", "step needs at"},
        BadSpec{"step:", "not of the form parameter=value"},
        BadSpec{"step:at=", "not of the form parameter=value"},
        BadSpec{"step:at=0.5|", "at= is no share"},
        BadSpec{"step:at=0", "above 0 and below 1"},
        BadSpec{"step:at=1", "above 0 and below 1"},
        BadSpec{"step:at=0.5|0.5", "does not ascend"},
        BadSpec{"step:at=0.5,at=0.7", "\"at\" is given twice"},
        BadSpec{"step:at=0.5,factor=2", "factor=2 is no number above 0"},
        BadSpec{"step:at=0.5,factor=0", "up to 1"},
        BadSpec{"step:at=0.5,factor=nan", "factor=nan is no number"},
        BadSpec{"constant:warmup=1", "from 0 to below 1"},
        BadSpec{"constant:warmup=-0.1", "from 0 to below 1"},
        BadSpec{"constant:at=0.5", "constant has the parameter warmup"},
        BadSpec{"step:at=0.5,rate=1",
                "unknown parameter \"rate\"; step has the parameters"}));

}  // namespace
}  // namespace paceline
