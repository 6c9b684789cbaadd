#include "services/worker/model/gradient_buckets.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GradientBucketsTest, FromTheLastTensorToTheFirst) {
  const std::vector<int64_t> offsets = {0, 100, 110, 120, 300, 310};
  EXPECT_THAT(MakeBuckets(offsets, 50),
              ElementsAre(GradientBucket{3, 5, 120, 190},
                          GradientBucket{0, 3, 0, 120}));
}

TEST(GradientBucketsTest, WhatIsLeftIsABucketHoweverSmall) {
  const std::vector<int64_t> offsets = {0, 1, 100};
  EXPECT_THAT(
      MakeBuckets(offsets, 99),
      ElementsAre(GradientBucket{1, 2, 1, 99}, GradientBucket{0, 1, 0, 1}));
  EXPECT_THAT(MakeBuckets(offsets, 1000),
              ElementsAre(GradientBucket{0, 2, 0, 100}));
}

TEST(GradientBucketsTest, ATensorEachWhereAllAreLarge) {
  const std::vector<int64_t> offsets = {0, 50, 100, 150};
  EXPECT_THAT(
      MakeBuckets(offsets, 50),
      ElementsAre(GradientBucket{2, 3, 100, 50}, GradientBucket{1, 2, 50, 50},
                  GradientBucket{0, 1, 0, 50}));
}

TEST(GradientBucketsTest, NothingOfNothing) {
  EXPECT_THAT(MakeBuckets({0}, 50), IsEmpty());
}

}  // namespace
}  // namespace paceline
