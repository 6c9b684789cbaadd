#include "common/job/metric_target.h"

#include <string>

#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

TEST(MetricTargetTest, IsReadAsItIsWritten) {
  const auto perplexity = ParseMetricTarget("perplexity<=20");
  ASSERT_TRUE(perplexity.ok()) << perplexity.status();
  EXPECT_EQ(perplexity->metric, "perplexity");
  EXPECT_EQ(perplexity->value, 20);
  EXPECT_FALSE(perplexity->at_least);
  for (const char* const text :
       {"perplexity<=20", "accuracy>=0.97", "bleu.4>=-1.5", "loss<=1e-06"}) {
    const auto target = ParseMetricTarget(text);
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_EQ(FormatMetricTarget(*target), text);
  }
}

TEST(MetricTargetTest, SaysWhatIsAllowed) {
  for (const char* const text :
       {"", "perplexity", "perplexity<20", "perplexity=20", "<=20",
        "top 5>=0.9", "accuracy>=", "accuracy>=high", "accuracy>=nan",
        "accuracy>=inf", "accuracy=>0.9", "a>=1>=2"}) {
    const absl::Status status = ParseMetricTarget(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("perplexity<=20"));
  }
}

TEST(MetricTargetTest, TheValueItselfReachesIt) {
  EXPECT_TRUE(ParseMetricTarget("x<=20")->ReachedBy(20));
  EXPECT_FALSE(ParseMetricTarget("x<=20")->ReachedBy(20.5));
  EXPECT_TRUE(ParseMetricTarget("x>=20")->ReachedBy(20));
  EXPECT_FALSE(ParseMetricTarget("x>=20")->ReachedBy(19.5));
}

}  // namespace
}  // namespace paceline
