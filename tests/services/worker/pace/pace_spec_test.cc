#include "services/worker/pace/pace_spec.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::HasSubstr;

struct BadCase {
  PaceFlags flags;
  const char* says;
};

// Every mistake is told in one line that shows what would be right.
TEST(PaceSpecTest, BadFlags) {
  for (const BadCase& bad : std::vector<BadCase>{
           {{.slowdown = "fast"}, "slowdown \"fast\": want a number above 0"},
           {{.slowdown = "0"}, "want a number above 0"},
           {{.slowdown = "-2"}, "want a number above 0"},
           {{.slowdown = "nan"}, "want a number above 0"},
           {{.slowdown = "1e9"}, "at most 1000"},
           {{.slowdown = "0.5"}, "below 1 only with a step time"},
           {{.step_time = "soon"}, "step time \"soon\": no duration"},
           {{.step_time = "0s"}, "step time: must be above 0"},
           {{.step_time = "-3ms"}, "must be from 0 to 1h"},
           {{.step_time = "inf"}, "must be from 0 to 1h"},
           {{.delay = "5ms"}, "want constant:5ms"},
           {{.delay = "pareto:mean=1ms"}, "want constant:5ms"},
           {{.delay = "constant:x"}, "delay constant \"x\": no duration"},
           {{.delay = "normal:mean=5ms"}, "delay normal: sd=... is missing"},
           {{.delay = "normal:mean=5ms,sd=1ms,sd=2ms"},
            "\"sd\" is given twice"},
           {{.delay = "normal:mean=5ms,min=1ms"},
            "normal has the parameters mean, sd"},
           {{.delay = "exponential:"}, "exponential has the parameter mean"},
           {{.delay = "uniform:min=5ms,max=1ms"}, "max is smaller than min"},
           {{.delay = "lognormal:mean=0s,sd=1ms"}, "mean must be above 0"},
           {{.pause = "2s"}, "pause has the parameters every, for, first"},
           {{.pause = "every=10s"}, "want every=10s,for=2s"},
           {{.pause = "every=2s,for=2s"}, "above 0 and below every"},
           {{.pause = "every=2s,for=0s"}, "above 0 and below every"},
           {{.micro_batch_cost = "2%"},
            "cost \"2%\": want a share from 0 to 1"},
           {{.step_time = "1s", .micro_batch_cost = "1.5"},
            "want a share from 0 to 1"},
           {{.step_time = "1s", .micro_batch_cost = "nan"},
            "want a share from 0 to 1"},
           {{.micro_batch_cost = "0.02"}, "is a share of the step time"}}) {
    const auto status = ParsePace(bad.flags).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad.says << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.says));
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

TEST(PaceSpecTest, GoodFlags) {
  const auto spec = ParsePace({.slowdown = "2.5",
                               .step_time = "20ms",
                               .delay = "lognormal:mean=10ms,sd=5ms",
                               .pause = "every=10s,for=2s,first=1s",
                               .micro_batch_cost = "0.02"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->slowdown, 2.5);
  EXPECT_EQ(spec->step_time, absl::Milliseconds(20));
  EXPECT_EQ(spec->delay->kind, DelayKind::kLognormal);
  EXPECT_EQ(spec->delay->mean, absl::Milliseconds(10));
  EXPECT_EQ(spec->delay->sd, absl::Milliseconds(5));
  EXPECT_EQ(spec->pause->every, absl::Seconds(10));
  EXPECT_EQ(spec->pause->length, absl::Seconds(2));
  EXPECT_EQ(spec->pause->first, absl::Seconds(1));
  EXPECT_EQ(spec->micro_batch_cost, 0.02);
  EXPECT_TRUE(ParsePace({.micro_batch_cost = "0"}).ok());
  EXPECT_EQ(ParsePause("for=2s,every=10s")->first, absl::Seconds(10));
}

TEST(PaceSpecTest, NothingGivenIsFullSpeed) {
  const auto spec = ParsePace({});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->slowdown, 1);
  EXPECT_FALSE(spec->step_time.has_value());
  EXPECT_FALSE(spec->delay.has_value());
  EXPECT_FALSE(spec->pause.has_value());
  EXPECT_EQ(spec->micro_batch_cost, 0);
}

}  // namespace
}  // namespace paceline
