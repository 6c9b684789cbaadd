#include "common/job/rate_spec.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_FALSE(ParseRateSpec("step:at=0.5")->counts_updates);
  EXPECT_FALSE(ParseRateSpec("step:at=0.5,count=samples")->counts_updates);
  EXPECT_TRUE(ParseRateSpec("step:at=0.5,count=updates")->counts_updates);
  EXPECT_TRUE(ParseRateSpec("constant:count=updates")->counts_updates);
}

struct BadRate {
  std::string text;
  std::string message;
};

class BadRateSpecTest : public testing::TestWithParam<BadRate> {};

TEST_P(BadRateSpecTest, IsRefusedWithAReason) {
  const absl::Status status = ParseRateSpec(GetParam().text).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRateSpecTest,
    testing::Values(
        BadRate{"", "there are constant, step"},
        BadRate{"cosine", "there are constant, step"},
        BadRate{"step", "step needs at"},
        BadRate{"step:", "not of the form parameter=value"},
        BadRate{"step:at=", "not of the form parameter=value"},
        BadRate{"step:at=0.5|", "at= is no share"},
        BadRate{"step:at=0", "above 0 and below 1"},
        BadRate{"step:at=1", "above 0 and below 1"},
        BadRate{"step:at=0.5|0.5", "does not ascend"},
        BadRate{"step:at=0.5,at=0.7", "\"at\" is given twice"},
        BadRate{"step:at=0.5,factor=2", "factor=2 is no number above 0"},
        BadRate{"step:at=0.5,factor=0", "up to 1"},
        BadRate{"step:at=0.5,factor=nan", "factor=nan is no number"},
        BadRate{"constant:warmup=1", "from 0 to below 1"},
        BadRate{"constant:warmup=-0.1", "from 0 to below 1"},
        BadRate{"constant:at=0.5", "constant has the parameters warmup, count"},
        BadRate{"step:at=0.5,count=epochs", "count"},
        BadRate{"step:at=0.5,rate=1",
                "unknown parameter \"rate\"; step has the parameters"}));

}  // namespace
}  // namespace paceline
