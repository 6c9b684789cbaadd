#include "services/coordinator/sync/core/sample_dealer.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "common/rng.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using Ranges = std::vector<SampleRange>;

Ranges DealAll(SampleDealer& dealer) {
  Ranges ranges;
  while (const std::optional<SampleRange> range = dealer.Deal()) {
    ranges.push_back(*range);
  }
  return ranges;
}

TEST(SampleDealerTest, EndsEachEpochWithAShortRange) {
  SampleDealer dealer(10, 2, 4);
  EXPECT_EQ(dealer.RangesLeft(), 6);
  EXPECT_EQ(
      DealAll(dealer),
      (Ranges{
          {0, 0, 4}, {0, 4, 8}, {0, 8, 10}, {1, 0, 4}, {1, 4, 8}, {1, 8, 10}}));
  EXPECT_EQ(dealer.RangesLeft(), 0);
  EXPECT_FALSE(dealer.done());
}

TEST(SampleDealerTest, IsDoneWhenAllIsCountedNotWhenAllIsDealt) {
  SampleDealer dealer(8, 1, 4);
  const Ranges ranges = DealAll(dealer);
  dealer.Count(ranges[1], 4);
  EXPECT_FALSE(dealer.done());
  dealer.Count(ranges[0], 4);
  EXPECT_TRUE(dealer.done());
  EXPECT_EQ(dealer.samples_counted(), 8);
  EXPECT_EQ(dealer.samples_total(), 8);
}

TEST(SampleDealerTest, DealsAReturnedRangeFirstUnderItsOwnEpoch) {
  SampleDealer dealer(4, 3, 4);
  const SampleRange first = *dealer.Deal();
  EXPECT_EQ(dealer.Deal(), (SampleRange{1, 0, 4}));
  dealer.Return(first);
  EXPECT_EQ(dealer.RangesLeft(), 2);
  EXPECT_EQ(dealer.Deal(), (SampleRange{0, 0, 4}));
  EXPECT_EQ(dealer.Deal(), (SampleRange{2, 0, 4}));
}

TEST(SampleDealerTest, DealsTheTailOfAPartialBatchAgain) {
  SampleDealer dealer(8, 1, 4);
  dealer.Count(*dealer.Deal(), 3);
  EXPECT_EQ(dealer.Deal(), (SampleRange{0, 3, 4}));
  EXPECT_EQ(dealer.samples_counted(), 3);
}

TEST(SampleDealerTest, MergesReturnedNeighboursIntoWholeBatches) {
  SampleDealer dealer(12, 1, 4);
  const Ranges ranges = DealAll(dealer);
  dealer.Count(ranges[1], 2);
  dealer.Count(ranges[0], 1);
  EXPECT_EQ(dealer.RangesLeft(), 2);
  dealer.Return(ranges[2]);
  // [1, 4) alone, for [4, 6) is counted; then [6, 12) in batches.
  EXPECT_EQ(dealer.RangesLeft(), 3);
  EXPECT_EQ(DealAll(dealer), (Ranges{{0, 1, 4}, {0, 6, 10}, {0, 10, 12}}));
}

TEST(SampleDealerTest, MergesOnBothSidesButNotAcrossEpochs) {
  SampleDealer dealer(9, 2, 3);
  const Ranges ranges = DealAll(dealer);
  dealer.Return(ranges[0]);
  dealer.Return(ranges[2]);
  dealer.Return(ranges[3]);
  dealer.Count(ranges[1], 1);
  EXPECT_EQ(dealer.RangesLeft(), 4);
  EXPECT_EQ(DealAll(dealer),
            (Ranges{{0, 0, 3}, {0, 4, 7}, {0, 7, 9}, {1, 0, 3}}));
}

TEST(SampleDealerTest, DealsNothingMoreOnceSealed) {
  SampleDealer dealer(8, 1, 4);
  const SampleRange first = *dealer.Deal();
  dealer.Seal();
  EXPECT_EQ(dealer.Deal(), std::nullopt);
  EXPECT_EQ(dealer.RangesLeft(), 0);
  EXPECT_FALSE(dealer.done());
  dealer.Return(first);
  EXPECT_EQ(dealer.Deal(), std::nullopt);
  EXPECT_TRUE(dealer.done());
  EXPECT_EQ(dealer.samples_counted(), 0);
}

TEST(SampleDealerDeathTest, NobodyCountsTwice) {
  SampleDealer dealer(8, 1, 4);
  const SampleRange range = *dealer.Deal();
  dealer.Count(range, 4);
  EXPECT_DEATH(dealer.Count(range, 4), "CHECK");
  EXPECT_DEATH(dealer.Return({0, 4, 8}), "CHECK");
  EXPECT_DEATH(dealer.Count(*dealer.Deal(), 5), "CHECK");
}

// Any order of counting, cutting and returning counts each sample once, and
// RangesLeft() never lies.
TEST(SampleDealerTest, CountsEverySampleOnceForEverySeed) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto samples = static_cast<uint32_t>(1 + rng.Below(60));
    const auto batch = static_cast<uint32_t>(1 + rng.Below(9));
    SampleDealer dealer(samples, 3, batch);
    Ranges open;
    std::set<SampleRange> counted;  // One sample each.
    while (!dealer.done()) {
      if (open.empty() || (rng.Chance(1, 2) && dealer.RangesLeft() > 0)) {
        const int64_t left = dealer.RangesLeft();
        ASSERT_GT(left, 0);
        open.push_back(*dealer.Deal());
        ASSERT_LE(open.back().size(), batch);
        ASSERT_EQ(dealer.RangesLeft(), left - 1);
        continue;
      }
      const size_t index = rng.Below(open.size());
      const SampleRange range = open[index];
      open.erase(open.begin() + static_cast<int64_t>(index));
      const auto used = static_cast<uint32_t>(rng.Below(range.size() + 1));
      dealer.Count(range, used);
      for (uint32_t i = 0; i < used; ++i) {
        const uint32_t at = range.begin + i;
        ASSERT_TRUE(counted.insert({range.epoch, at, at + 1}).second);
      }
    }
    EXPECT_EQ(counted.size(), 3 * samples);
    EXPECT_TRUE(open.empty());
  }
}

}  // namespace
}  // namespace paceline
