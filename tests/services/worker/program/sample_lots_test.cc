#include "services/worker/program/sample_lots.h"

#include "common/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SampleLots::Notice Step(SampleLots& lots, const SampleRange& step,
                        const std::vector<SampleRange>& reserved = {}) {
  const auto notice = lots.Step(step, reserved);
  EXPECT_TRUE(notice.ok()) << notice.status();
  return notice.ok() ? *notice : SampleLots::Notice();
}

TEST(SampleLotsTest, WithoutReservationsAStepIsItsOwnLot) {
  SampleLots lots(1, 100);
  for (const SampleRange& step :
       {SampleRange{0, 0, 32}, {0, 32, 64}, {1, 0, 8}, {0, 70, 80}}) {
    const auto notice = Step(lots, step);
    EXPECT_FALSE(notice.drop);
    EXPECT_THAT(notice.lots, ElementsAre(step));
  }
}

TEST(SampleLotsTest, WhatIsReservedIsToldOnceAndTakenFromTheFront) {
  SampleLots lots(1, 100);
  EXPECT_THAT(Step(lots, {0, 0, 10}, {{0, 10, 30}, {0, 50, 60}}).lots,
              ElementsAre(SampleRange{0, 0, 10}, SampleRange{0, 10, 30},
                          SampleRange{0, 50, 60}));
  EXPECT_THAT(Step(lots, {0, 10, 20}).lots, IsEmpty());
  EXPECT_THAT(Step(lots, {0, 20, 30}, {{1, 0, 20}, {1, 20, 40}}).lots,
              ElementsAre(SampleRange{1, 0, 20}, SampleRange{1, 20, 40}));
  EXPECT_THAT(Step(lots, {0, 50, 60}).lots, IsEmpty());
  // Neighbours are one.
  EXPECT_THAT(Step(lots, {1, 0, 30}).lots, IsEmpty());
  EXPECT_THAT(Step(lots, {1, 30, 40}).lots, IsEmpty());
  EXPECT_FALSE(lots.Drop()) << "nothing is left";
}

TEST(SampleLotsTest, AStepOnOtherSamplesWithdrawsTheRest) {
  SampleLots lots(1, 100);
  Step(lots, {0, 0, 10}, {{0, 10, 30}});
  const auto notice = Step(lots, {0, 40, 50}, {{0, 60, 70}});
  EXPECT_TRUE(notice.drop);
  EXPECT_THAT(notice.lots,
              ElementsAre(SampleRange{0, 40, 50}, SampleRange{0, 60, 70}));
  EXPECT_THAT(Step(lots, {0, 60, 70}).lots, IsEmpty());
}

// A step that was foretold, and then dropped, had taken them.
TEST(SampleLotsTest, AStepOnTheSamplesBeforeWithdrawsNothing) {
  SampleLots lots(1, 100);
  Step(lots, {0, 0, 10}, {{0, 10, 30}, {1, 0, 20}});
  Step(lots, {0, 10, 20});
  const auto notice = Step(lots, {0, 10, 20}, {{1, 20, 30}});
  EXPECT_TRUE(notice.drop);
  EXPECT_THAT(notice.lots,
              ElementsAre(SampleRange{0, 10, 20}, SampleRange{0, 20, 30},
                          SampleRange{1, 0, 20}, SampleRange{1, 20, 30}));
  EXPECT_THAT(Step(lots, {0, 20, 30}).lots, IsEmpty());
  EXPECT_THAT(Step(lots, {1, 0, 30}).lots, IsEmpty());
}

TEST(SampleLotsTest, MoreMayBeReservedOfAStepThatWasTold) {
  SampleLots lots(1, 100);
  Step(lots, {0, 0, 10}, {{0, 10, 20}});
  Step(lots, {0, 10, 20});
  const auto notice = lots.Reserve({{{0, 20, 30}}});
  ASSERT_TRUE(notice.ok()) << notice.status();
  EXPECT_FALSE(notice->drop);
  EXPECT_THAT(notice->lots, ElementsAre(SampleRange{0, 20, 30}));
  EXPECT_THAT(Step(lots, {0, 20, 30}).lots, IsEmpty());
  EXPECT_TRUE(absl::IsInvalidArgument(lots.Reserve({{{0, 5, 5}}}).status()));
}

TEST(SampleLotsTest, WhatIsWithdrawnIsToldAgain) {
  SampleLots lots(1, 100);
  EXPECT_FALSE(lots.Drop());
  Step(lots, {0, 0, 10}, {{0, 10, 30}});
  EXPECT_TRUE(lots.Drop());
  EXPECT_FALSE(lots.Drop());
  const auto notice = Step(lots, {0, 10, 20});
  EXPECT_FALSE(notice.drop);
  EXPECT_THAT(notice.lots, ElementsAre(SampleRange{0, 10, 20}));
}

TEST(SampleLotsTest, WhatIsNoPartOfAnEpochIsRefused) {
  SampleLots lots(1, 100);
  for (const SampleRange& bad :
       {SampleRange{0, 90, 101}, {0, 7, 7}, {0, 8, 7}, {0, 0, 1, 101}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(lots.Step(bad, {}).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(lots.Step({0, 0, 1}, {bad}).status()));
  }
}

TEST(SampleLotsTest, PositionsMeanTheSamplesOfTheEpochsPermutation) {
  SampleLots lots(9, 50);
  for (const uint32_t epoch : {0, 1, 0, 2, 1, 2, 0}) {
    const std::vector<uint32_t> order = EpochPermutation(9, epoch, 50);
    const auto samples = lots.SamplesAt({epoch, 10, 20});
    EXPECT_EQ(std::vector<uint32_t>(samples.begin(), samples.end()),
              std::vector<uint32_t>(order.begin() + 10, order.begin() + 20));
  }
}

}  // namespace
}  // namespace paceline
