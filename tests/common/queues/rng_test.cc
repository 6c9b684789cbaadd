#include "common/rng.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "common/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

template <class Draw>
std::vector<uint64_t> Draws(uint64_t seed, int count, Draw draw) {
  Rng rng(seed);
  std::vector<uint64_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(draw(rng));
  return drawn;
}

// The published values of SplitMix64. A job's permutations, data and starting
// weights follow from them: they must never change.
TEST(RngTest, GivesThePublishedSequence) {
  const auto next = [](Rng& rng) { return rng.Next(); };
  EXPECT_THAT(Draws(1234567, 5, next),
              ElementsAre(6457827717110365317u, 3203168211198807973u,
                          9817491932198370423u, 4593380528125082431u,
                          16408922859458223821u));
  EXPECT_THAT(Draws(0, 3, next),
              ElementsAre(16294208416658607535u, 7960286522194355700u,
                          487617019471545679u));
}

TEST(RngTest, BelowStaysAsItIs) {
  EXPECT_THAT(Draws(42, 16, [](Rng& rng) { return rng.Below(6); }),
              ElementsAre(1, 1, 0, 0, 4, 0, 1, 2, 1, 2, 5, 4, 2, 1, 2, 2));
}

// Nearly half of the draws must be rejected at this bound: of the first six
// draws of seed 42 four are, and without that the results would differ.
TEST(RngTest, BelowRejectsWhatWouldBias) {
  constexpr uint64_t kBound = (uint64_t{1} << 63) + 1;
  EXPECT_THAT(Draws(42, 4, [](Rng& rng) { return rng.Below(kBound); }),
              ElementsAre(4456085495900499604u, 6792609088808213253u,
                          5545679290133000099u, 2185608355395893165u));
}

TEST(RngTest, BelowGivesEveryValueAboutEquallyOften) {
  Rng rng(3);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts.at(rng.Below(7));
  // Five standard deviations of a binomial with n = 70,000 and p = 1/7.
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 463);
}

TEST(RngTest, BelowOneIsAlwaysZero) {
  Rng rng(9);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.Below(1), 0u);
}

TEST(RngTest, ChanceIsCertainAtItsEnds) {
  Rng rng(9);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(rng.Chance(0, 3));
    EXPECT_TRUE(rng.Chance(3, 3));
  }
}

TEST(RngTest, UnitIsTheUpper53Bits) {
  Rng rng(42);
  EXPECT_EQ(rng.Unit(), static_cast<double>(0x17bae644c5fd6d) * 0x1.0p-53);
  EXPECT_EQ(rng.Unit(), static_cast<double>(0x51dfc66764cde) * 0x1.0p-53);
  for (int i = 0; i < 10'000; ++i) {
    const double unit = rng.Unit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
  }
}

TEST(RngTest, DerivedSeedsStayAsTheyAre) {
  EXPECT_EQ(DeriveSeed(0, 0), 12035550249420947055u);
  EXPECT_EQ(DeriveSeed(1, 0), 627405149472732430u);
  EXPECT_EQ(DeriveSeed(0, 1), 6791897765849424158u);
  EXPECT_EQ(DeriveSeed(7, 3), 16753576447339095367u);
}

TEST(RngTest, NeighbouringStreamsHaveDifferentSeeds) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (uint64_t stream = 0; stream < 100; ++stream) {
      seeds.insert(DeriveSeed(seed, stream));
    }
  }
  EXPECT_EQ(seeds.size(), 10'000u);
}

TEST(RngDeathTest, BelowZeroIsABug) {
  Rng rng(1);
  EXPECT_DEATH(rng.Below(0), "CHECK");
}

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

// Of these, too.
TEST(EpochPermutationTest, StaysAsItIsInParts) {
  EXPECT_THAT(EpochPermutation(1, 0, 10, 3),
              ElementsAre(9, 3, 1, 0, 8, 4, 2, 6, 7, 5));
  EXPECT_THAT(EpochPermutation(1, 1, 10, 3),
              ElementsAre(1, 3, 9, 0, 4, 2, 8, 7, 6, 5));
  EXPECT_THAT(EpochPermutation(2, 0, 10, 3),
              ElementsAre(4, 1, 5, 9, 3, 0, 7, 6, 2, 8));
  EXPECT_THAT(EpochPermutation(1, 0, 10, 1),
              ElementsAre(3, 1, 9, 5, 4, 6, 2, 8, 0, 7));
}

TEST(EpochPermutationTest, APartHasTheSameSamplesInEveryEpochInOtherOrders) {
  constexpr uint32_t kSize = 103;
  constexpr uint32_t kParts = 4;
  const auto part = [](const std::vector<uint32_t>& order, uint32_t p) {
    return std::vector<uint32_t>(
        order.begin() + PartBegin(kSize, kParts, p),
        order.begin() + PartBegin(kSize, kParts, p + 1));
  };
  const auto first = EpochPermutation(5, 0, kSize, kParts);
  EXPECT_EQ(Sorted(first), Identity(kSize));
  for (uint32_t epoch = 1; epoch < 20; ++epoch) {
    const auto order = EpochPermutation(5, epoch, kSize, kParts);
    for (uint32_t p = 0; p < kParts; ++p) {
      EXPECT_EQ(Sorted(part(order, p)), Sorted(part(first, p)));
      EXPECT_NE(part(order, p), part(first, p));
    }
  }
}

TEST(PartBeginTest, PartsDifferByOneAtMostAndTheLargerOnesComeFirst) {
  for (const uint32_t size : {0u, 1u, 3u, 10u, 1000u, 4'000'000'000u}) {
    for (const uint32_t parts : {1u, 2u, 3u, 7u, 64u}) {
      EXPECT_EQ(PartBegin(size, parts, 0), 0u);
      EXPECT_EQ(PartBegin(size, parts, parts), size);
      uint32_t last = size / parts + 1;
      for (uint32_t part = 0; part < parts; ++part) {
        const uint32_t has =
            PartBegin(size, parts, part + 1) - PartBegin(size, parts, part);
        EXPECT_GE(has, size / parts);
        EXPECT_LE(has, last);
        last = has;
      }
    }
  }
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
