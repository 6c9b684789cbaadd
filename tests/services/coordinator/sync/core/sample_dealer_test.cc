#include "services/coordinator/sync/core/sample_dealer.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

// One that goes on from there, over so many epochs of ten samples.
SampleDealer From(const SamplePosition& position, uint32_t epochs = 2) {
  SampleDealer dealer(10, epochs, 4);
  dealer.StartAt(position);
  return dealer;
}

TEST(SamplePositionTest, IsAtTheStartBeforeAnythingIsDealt) {
  const SampleDealer dealer(10, 2, 4);
  EXPECT_EQ(dealer.Position(), SamplePosition());
  EXPECT_EQ(SamplesCounted(dealer.Position(), 10), 0);
}

TEST(SamplePositionTest, WhatIsOutstandingOrReturnedIsOpen) {
  SampleDealer dealer(10, 2, 4);
  const SampleRange a = *dealer.Deal();
  const SampleRange b = *dealer.Deal();
  const SampleRange c = *dealer.Deal();
  EXPECT_EQ(dealer.Position(), (SamplePosition{1, 0, {a, b, c}}));
  dealer.Count(b, 1);
  dealer.Return(c);
  EXPECT_EQ(dealer.Position(), (SamplePosition{1, 0, {a, {0, 5, 10}}}));
  EXPECT_EQ(SamplesCounted(dealer.Position(), 10), 1);
  dealer.Count(a, 4);
  *dealer.Deal();
  EXPECT_EQ(dealer.Position(), (SamplePosition{1, 0, {{0, 5, 9}, {0, 9, 10}}}));
}

TEST(SamplePositionTest, WhatIsOpenComesFirst) {
  SampleDealer dealer = From({1, 4, {{0, 2, 3}, {1, 0, 2}}});
  EXPECT_EQ(dealer.samples_counted(), 11);
  EXPECT_EQ(dealer.samples_total(), 20);
  EXPECT_EQ(dealer.RangesLeft(), 4);
  EXPECT_EQ(DealAll(dealer),
            (Ranges{{0, 2, 3}, {1, 0, 2}, {1, 4, 8}, {1, 8, 10}}));
}

TEST(SamplePositionTest, OpenNeighboursAreDealtTogether) {
  SampleDealer dealer = From({1, 0, {{0, 0, 3}, {0, 3, 4}, {0, 4, 9}}});
  EXPECT_EQ(dealer.RangesLeft(), 3 + 3);
  EXPECT_EQ(dealer.Deal(), (SampleRange{0, 0, 4}));
  EXPECT_EQ(dealer.Deal(), (SampleRange{0, 4, 8}));
  EXPECT_EQ(dealer.Deal(), (SampleRange{0, 8, 9}));
}

TEST(SamplePositionTest, TheEndIsAPositionToo) {
  SampleDealer dealer = From({2, 0, {}});
  EXPECT_TRUE(dealer.done());
  EXPECT_EQ(dealer.Deal(), std::nullopt);
  // One more epoch, say: the job was given more of them meanwhile.
  SampleDealer longer = From({2, 0, {}}, 3);
  EXPECT_FALSE(longer.done());
  EXPECT_EQ(longer.Deal(), (SampleRange{2, 0, 4}));
  // Or fewer: what was counted stays counted.
  const SampleDealer shorter = From({2, 0, {}}, 1);
  EXPECT_TRUE(shorter.done());
  EXPECT_EQ(shorter.samples_counted(), 20);
  EXPECT_EQ(shorter.samples_total(), 20);
}

constexpr WorkerId kBad{1};
constexpr WorkerId kGood{2};

TEST(DoubtfulSamplesTest, AnotherWorkerGetsThemNext) {
  SampleDealer dealer(12, 1, 4);
  const SampleRange doubted = *dealer.Deal(4, kBad);
  EXPECT_FALSE(dealer.Doubt(doubted, kBad));
  EXPECT_EQ(dealer.RangesLeft(), 3);
  EXPECT_EQ(dealer.Deal(4, kBad), (SampleRange{0, 4, 8}));
  EXPECT_EQ(dealer.Deal(4, kGood), doubted);
  dealer.Count(doubted, 4);
  EXPECT_EQ(dealer.samples_counted(), 4);
  EXPECT_EQ(dealer.samples_discarded(), 0);
}

TEST(DoubtfulSamplesTest, TheSecondTimeTheyAreLeftOut) {
  SampleDealer dealer(8, 1, 8);
  const SampleRange range = *dealer.Deal(8, kBad);
  EXPECT_FALSE(dealer.Doubt(range, kBad));
  EXPECT_FALSE(dealer.done());
  EXPECT_EQ(dealer.Deal(8, kGood), range);
  EXPECT_TRUE(dealer.Doubt(range, kGood));
  EXPECT_TRUE(dealer.done());
  EXPECT_EQ(dealer.samples_counted(), 8);
  EXPECT_EQ(dealer.samples_discarded(), 8);
}

TEST(DoubtfulSamplesTest, WhoIsAloneGetsThemAtTheEnd) {
  SampleDealer dealer(8, 1, 4);
  const SampleRange range = *dealer.Deal(4, kBad);
  EXPECT_FALSE(dealer.Doubt(range, kBad));
  dealer.Count(*dealer.Deal(4, kBad), 4);
  // In pieces, if it gets less than whoever had them.
  EXPECT_EQ(dealer.Deal(3, kBad), (SampleRange{0, 0, 3}));
  EXPECT_EQ(dealer.Deal(3, kBad), (SampleRange{0, 3, 4}));
  EXPECT_TRUE(dealer.Doubt({0, 0, 3}, kBad));
  dealer.Count({0, 3, 4}, 1);
  EXPECT_TRUE(dealer.done());
  EXPECT_EQ(dealer.samples_discarded(), 3);
}

TEST(DoubtfulSamplesTest, TheyAreOpenInAPositionAndWhatIsDiscardedStaysSo) {
  SampleDealer dealer(10, 1, 4);
  const SampleRange a = *dealer.Deal(4, kBad);
  const SampleRange b = *dealer.Deal(4, kBad);
  EXPECT_FALSE(dealer.Doubt(b, kBad));
  dealer.Discard(a, 3);
  const SamplePosition position = dealer.Position();
  EXPECT_EQ(position, (SamplePosition{0, 8, {{0, 3, 4}, b}, 3}));
  SampleDealer again = From(position, 1);
  EXPECT_EQ(again.samples_discarded(), 3);
  SamplePosition wrong = position;
  wrong.discarded = 4;
  EXPECT_TRUE(absl::IsInvalidArgument(CheckPosition(wrong, 10)));
}

TEST(DoubtfulSamplesTest, ALostWorkersSecondTryIsAFirstOne) {
  SampleDealer dealer(4, 1, 4);
  const SampleRange range = *dealer.Deal(4, kBad);
  EXPECT_FALSE(dealer.Doubt(range, kBad));
  EXPECT_EQ(dealer.Deal(4, kGood), range);
  dealer.Return(range);
  EXPECT_EQ(dealer.Deal(4, kGood), range);
  EXPECT_FALSE(dealer.Doubt(range, kGood));
}

TEST(SampleLimitTest, DealsUpToTheLimitAndARangeBeyond) {
  SampleDealer dealer(10, 1, 4);
  dealer.SetLimit(13);
  EXPECT_EQ(dealer.RangesLeft(), 4);
  const Ranges ranges = DealAll(dealer);
  EXPECT_THAT(ranges, ElementsAre(SampleRange{0, 0, 4}, SampleRange{0, 4, 8},
                                  SampleRange{0, 8, 10}, SampleRange{1, 0, 4}));
  for (const SampleRange& range : ranges) dealer.Count(range, range.size());
  EXPECT_TRUE(dealer.done());
  EXPECT_EQ(dealer.samples_counted(), 14);
  EXPECT_EQ(dealer.samples_total(), 14);
}

TEST(SampleLimitTest, BelowWhatIsDealtOnlyWhatIsOpenIsLeft) {
  SampleDealer dealer(10, 2, 4);
  const SampleRange a = *dealer.Deal();
  const SampleRange b = *dealer.Deal();
  dealer.SetLimit(1);
  EXPECT_EQ(dealer.RangesLeft(), 0);
  EXPECT_EQ(dealer.Deal(), std::nullopt);
  EXPECT_EQ(dealer.samples_total(), 8);
  dealer.Return(a);
  EXPECT_EQ(dealer.RangesLeft(), 1);
  EXPECT_EQ(dealer.Deal(), a);
  dealer.Count(a, 4);
  EXPECT_FALSE(dealer.done());
  dealer.Count(b, 4);
  EXPECT_TRUE(dealer.done());
}

TEST(SampleLimitTest, RaisedLaterItGoesOn) {
  SampleDealer dealer(10, 1, 4);
  dealer.SetLimit(4);
  const Ranges first = DealAll(dealer);
  EXPECT_THAT(first, ElementsAre(SampleRange{0, 0, 4}));
  dealer.Count(first[0], 4);
  EXPECT_TRUE(dealer.done());
  dealer.SetLimit(25);
  EXPECT_FALSE(dealer.done());
  // Two of this epoch, three of the next, two of half of the third.
  EXPECT_EQ(dealer.RangesLeft(), 2 + 3 + 2);
  EXPECT_THAT(DealAll(dealer), testing::SizeIs(7));
  EXPECT_EQ(dealer.samples_total(), 28);
}

TEST(SampleLimitTest, SealedItStaysSealed) {
  SampleDealer dealer(10, 1, 4);
  dealer.Seal();
  dealer.SetLimit(100);
  EXPECT_EQ(dealer.Deal(), std::nullopt);
  EXPECT_EQ(dealer.RangesLeft(), 0);
  EXPECT_TRUE(dealer.done());
}

struct Impossible {
  std::string name;
  SamplePosition position;
  std::string says;
};

class ImpossiblePositionTest : public testing::TestWithParam<Impossible> {};

TEST_P(ImpossiblePositionTest, IsRefused) {
  const absl::Status status = CheckPosition(GetParam().position, 10);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Each, ImpossiblePositionTest,
    testing::Values(
        Impossible{"AtTheEndOfAnEpoch", {0, 10, {}}, "sample 10 of epoch 0"},
        Impossible{"BeyondTheEpoch", {3, 4'000'000'000, {}}, "has 10 samples"},
        Impossible{"EpochOfNoJob", {4'000'000'000, 0, {}}, "epoch 4000000000"},
        Impossible{"OpenIsEmpty", {1, 0, {{0, 3, 3}}}, "[3, 3) of epoch 0"},
        Impossible{"OpenIsReversed", {1, 0, {{0, 4, 3}}}, "[4, 3)"},
        Impossible{"OpenCrossesTheEpoch", {2, 0, {{0, 8, 11}}}, "[8, 11)"},
        Impossible{"OpenWasNotDealt", {0, 4, {{0, 4, 5}}}, "[4, 5)"},
        Impossible{"OpenEndsUndealt", {0, 4, {{0, 3, 5}}}, "[3, 5)"},
        Impossible{"OpenOfALaterEpoch", {0, 4, {{1, 0, 1}}}, "of epoch 1"},
        Impossible{"Twice", {1, 0, {{0, 1, 3}, {0, 1, 3}}}, "[1, 3)"},
        Impossible{"Overlapping", {1, 0, {{0, 1, 3}, {0, 2, 5}}}, "[2, 5)"},
        Impossible{"Unsorted", {1, 0, {{0, 5, 6}, {0, 1, 3}}}, "[1, 3)"},
        Impossible{"EpochsUnsorted",
                   {2, 0, {{1, 0, 1}, {0, 5, 6}}},
                   "[5, 6) of epoch 0"}),
    [](const auto& instance) { return instance.param.name; });

TEST(SamplePositionTest, WhatCanBeIsTaken) {
  for (const SamplePosition& position :
       {SamplePosition{}, SamplePosition{0, 9, {{0, 0, 9}}},
        SamplePosition{7, 0, {{0, 0, 10}, {6, 9, 10}}},
        SamplePosition{1, 3, {{0, 0, 3}, {0, 3, 4}, {1, 0, 3}}}}) {
    EXPECT_TRUE(CheckPosition(position, 10).ok());
  }
  EXPECT_FALSE(CheckPosition({}, 0).ok()) << "there are no samples at all";
}

TEST(SampleDealerDeathTest, StartsNowhereImpossible) {
  SampleDealer dealer(10, 1, 4);
  EXPECT_DEATH(dealer.StartAt({0, 10, {}}), "CHECK");
  *dealer.Deal();
  EXPECT_DEATH(dealer.StartAt({}), "CHECK");
}

// In any order of counting, cutting and returning, interrupted anywhere, again
// and again, and taken up each time by a dealer of other batches: every sample
// is counted once, and RangesLeft() never lies.
TEST(SamplePositionTest, CountsEverySampleOnceOverManyStartsForEverySeed) {
  for (uint64_t seed = 0; seed < SeedCount(3000); ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto samples = static_cast<uint32_t>(1 + rng.Below(60));
    SamplePosition position;
    std::set<SampleRange> counted;  // One sample each.
    for (bool done = false; !done;) {
      const auto batch = static_cast<uint32_t>(1 + rng.Below(9));
      SampleDealer dealer(samples, 3, batch);
      dealer.StartAt(position);
      ASSERT_EQ(dealer.Position().next_begin, position.next_begin);
      ASSERT_EQ(dealer.samples_counted(), static_cast<int64_t>(counted.size()));
      Ranges open;
      for (uint64_t steps = 5 + rng.Below(40); steps > 0 && !dealer.done();) {
        --steps;
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
        for (uint32_t at = range.begin; at < range.begin + used; ++at) {
          ASSERT_TRUE(counted.insert({range.epoch, at, at + 1}).second);
        }
      }
      position = dealer.Position();
      ASSERT_TRUE(CheckPosition(position, samples).ok());
      ASSERT_EQ(SamplesCounted(position, samples), dealer.samples_counted());
      done = dealer.done();
    }
    EXPECT_EQ(counted.size(), 3 * samples);
    EXPECT_THAT(position.open, IsEmpty());
  }
}

}  // namespace
}  // namespace paceline
