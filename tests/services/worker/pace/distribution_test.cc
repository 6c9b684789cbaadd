#include "services/worker/pace/distribution.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

struct Sample {
  double mean = 0;
  double sd = 0;
  double least = 0;
  double largest = 0;
};

// Moments of 20,000 values, in milliseconds.
Sample SampleOf(absl::string_view text) {
  const auto spec = ParseDelay(text);
  EXPECT_TRUE(spec.ok()) << spec.status();
  Rng rng(1);
  std::vector<double> values;
  double sum = 0, square = 0;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(absl::ToDoubleMilliseconds(SampleDelay(*spec, rng)));
    sum += values.back();
    square += values.back() * values.back();
  }
  const double mean = sum / 20'000;
  return {mean, std::sqrt(square / 20'000 - mean * mean),
          *std::min_element(values.begin(), values.end()),
          *std::max_element(values.begin(), values.end())};
}

TEST(DistributionTest, Constant) {
  const Sample sample = SampleOf("constant:5ms");
  EXPECT_EQ(sample.least, 5);
  EXPECT_EQ(sample.largest, 5);
}

TEST(DistributionTest, Uniform) {
  const Sample sample = SampleOf("uniform:min=2ms,max=8ms");
  EXPECT_NEAR(sample.mean, 5, 0.05);
  EXPECT_NEAR(sample.sd, 6 / std::sqrt(12), 0.05);
  EXPECT_GE(sample.least, 2);
  EXPECT_LT(sample.largest, 8);
}

TEST(DistributionTest, Normal) {
  const Sample sample = SampleOf("normal:mean=50ms,sd=5ms");
  EXPECT_NEAR(sample.mean, 50, 0.15);
  EXPECT_NEAR(sample.sd, 5, 0.1);
}

TEST(DistributionTest, NormalIsNeverNegative) {
  const Sample sample = SampleOf("normal:mean=1ms,sd=5ms");
  EXPECT_EQ(sample.least, 0);
  EXPECT_GT(sample.largest, 10);
}

TEST(DistributionTest, Exponential) {
  const Sample sample = SampleOf("exponential:mean=10ms");
  EXPECT_NEAR(sample.mean, 10, 0.3);
  EXPECT_NEAR(sample.sd, 10, 0.4);
  EXPECT_GT(sample.largest, 70);
  EXPECT_LT(sample.least, 0.01);
}

TEST(DistributionTest, Lognormal) {
  const Sample sample = SampleOf("lognormal:mean=10ms,sd=5ms");
  EXPECT_NEAR(sample.mean, 10, 0.15);
  EXPECT_NEAR(sample.sd, 5, 0.2);
  EXPECT_GT(sample.least, 0);
}

// All but the lognormal are integers: the same everywhere.
TEST(DistributionTest, TheSameValuesEverywhere) {
  const auto third = [](absl::string_view text) {
    const DelaySpec spec = *ParseDelay(text);
    Rng rng(42);
    SampleDelay(spec, rng);
    SampleDelay(spec, rng);
    return absl::ToInt64Nanoseconds(SampleDelay(spec, rng));
  };
  EXPECT_EQ(third("uniform:min=2ms,max=8ms"), 3671606);
  EXPECT_EQ(third("normal:mean=50ms,sd=5ms"), 57962697);
  EXPECT_EQ(third("exponential:mean=10ms"), 2049018);
}

}  // namespace
}  // namespace paceline
