#include "services/coordinator/int_histogram.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/rng.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(IntHistogramTest, HasZerosWithoutValues) {
  const IntHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0), 0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  EXPECT_EQ(histogram.Quantile(1), 0);
  EXPECT_EQ(histogram.Max(), 0);
  EXPECT_EQ(histogram.total(), 0);
}

TEST(IntHistogramTest, OfOneValue) {
  IntHistogram histogram;
  histogram.Add(7);
  for (const double share : {0.0, 0.5, 0.99, 1.0}) {
    EXPECT_EQ(histogram.Quantile(share), 7);
  }
  EXPECT_EQ(histogram.Max(), 7);
  EXPECT_EQ(histogram.total(), 1);
}

TEST(IntHistogramTest, TheMedianOfTwoIsTheLower) {
  IntHistogram histogram;
  histogram.Add(9);
  histogram.Add(1);
  EXPECT_EQ(histogram.Quantile(0.5), 1);
  EXPECT_EQ(histogram.Quantile(0.51), 9);
}

TEST(IntHistogramTest, OneInAHundredMovesTheMaximumAlone) {
  IntHistogram histogram;
  for (int i = 0; i < 99; ++i) histogram.Add(2);
  histogram.Add(50);
  EXPECT_EQ(histogram.Quantile(0.99), 2);
  EXPECT_EQ(histogram.Max(), 50);
  histogram.Add(50);
  EXPECT_EQ(histogram.Quantile(0.99), 50);
}

TEST(IntHistogramTest, CountsNegativeNumbers) {
  IntHistogram histogram;
  for (const int value : {-3, -3, -3, 2}) histogram.Add(value);
  EXPECT_EQ(histogram.Quantile(0.5), -3);
  EXPECT_EQ(histogram.Max(), 2);
}

TEST(IntHistogramTest, AgreesWithASortedList) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    IntHistogram histogram;
    std::vector<int64_t> values(1 + rng.Below(300));
    for (int64_t& value : values) {
      value = static_cast<int64_t>(rng.Below(20));
      histogram.Add(value);
    }
    std::sort(values.begin(), values.end());
    const auto count = static_cast<double>(values.size());
    for (const double share : {0.25, 0.5, 0.75, 1.0}) {
      const auto rank = static_cast<size_t>(std::ceil(share * count));
      EXPECT_EQ(histogram.Quantile(share), values[rank - 1]);
    }
    EXPECT_EQ(histogram.Max(), values.back());
    EXPECT_EQ(histogram.total(), static_cast<int64_t>(values.size()));
  }
}

}  // namespace
}  // namespace paceline
