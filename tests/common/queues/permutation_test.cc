#include "common/permutation.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint32_t> Sorted(std::vector<uint32_t> order) {
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<uint32_t> Identity(uint32_t size) {
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

// Workers of different builds must deal the same samples: never change these.
// They come from a second implementation.
TEST(EpochPermutationTest, StaysAsItIs) {
  EXPECT_THAT(EpochPermutation(1, 0, 10),
              ElementsAre(7, 9, 6, 8, 1, 5, 0, 4, 3, 2));
  EXPECT_THAT(EpochPermutation(1, 1, 10),
              ElementsAre(3, 4, 6, 9, 0, 5, 1, 2, 8, 7));
  EXPECT_THAT(EpochPermutation(2, 0, 10),
              ElementsAre(1, 6, 0, 5, 3, 4, 8, 7, 2, 9));
  EXPECT_THAT(
      EpochPermutation(42, 7, 16),
      ElementsAre(7, 13, 10, 9, 2, 8, 1, 4, 15, 12, 11, 3, 14, 0, 6, 5));
}

TEST(EpochPermutationTest, StaysAsItIsAtTheSizeOfMnist) {
  uint64_t hash = 0;
  for (const uint32_t sample : EpochPermutation(20260101, 3, 60'000)) {
    hash = hash * 1099511628211u + sample;
  }
  EXPECT_EQ(hash, 6278936609978055826u);
}

TEST(EpochPermutationTest, HasEverySampleOnce) {
  for (const uint32_t size : {2u, 3u, 17u, 256u, 1000u}) {
    for (uint32_t epoch = 0; epoch < 20; ++epoch) {
      EXPECT_EQ(Sorted(EpochPermutation(5, epoch, size)), Identity(size));
    }
  }
}

TEST(EpochPermutationTest, DiffersFromEpochToEpochAndFromSeedToSeed) {
  const auto first = EpochPermutation(5, 0, 100);
  EXPECT_NE(first, Identity(100));
  for (uint32_t i = 1; i < 50; ++i) {
    EXPECT_NE(EpochPermutation(5, i, 100), first);
    EXPECT_NE(EpochPermutation(5 + i, 0, 100), first);
  }
}

// Each sample comes about equally often at each place.
TEST(EpochPermutationTest, FavoursNoOrder) {
  constexpr uint32_t kSize = 5;
  constexpr uint32_t kEpochs = 20'000;
  std::vector<int> counts(kSize * kSize);
  for (uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    const auto order = EpochPermutation(11, epoch, kSize);
    for (uint32_t place = 0; place < kSize; ++place) {
      ++counts[place * kSize + order[place]];
    }
  }
  // Five standard deviations of a binomial with n = 20,000 and p = 1/5.
  for (const int count : counts) EXPECT_NEAR(count, 4'000, 283);
}

TEST(EpochPermutationTest, OfNothingAndOfOne) {
  EXPECT_THAT(EpochPermutation(1, 0, 0), IsEmpty());
  EXPECT_THAT(EpochPermutation(1, 0, 1), ElementsAre(0));
}

}  // namespace
}  // namespace paceline
