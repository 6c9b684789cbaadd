#include "services/coordinator/sync/core/round_ledger.h"

#include <cstdint>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr RoundId kRound{7};

constexpr SampleRange kSamples{0, 0, 8};

// As a fence is answered by which nothing whole is known.
bool Answer(RoundLedger& ledger, Closing fenced_at, bool taken) {
  return ledger.Answered(kRound, fenced_at, taken, {});
}

TEST(RoundLedgerTest, CountsThePushesUntilTheRoundIsDrained) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Issued(kRound);
  ledger.Pushed(kRound, {kSamples});
  EXPECT_EQ(ledger.PushesIn(kRound), 1);
  EXPECT_EQ(ledger.SamplesIn({kRound}), kSamples.size());
  EXPECT_THAT(ledger.Undrained(), ElementsAre(kRound));
  EXPECT_THAT(ledger.Gathered(), ElementsAre(kSamples));
  ledger.Drained(kRound, 1);
  EXPECT_EQ(ledger.PushesIn(kRound), 0);
  EXPECT_EQ(ledger.SamplesIn({kRound}), 0);
  EXPECT_THAT(ledger.Undrained(), IsEmpty());
  EXPECT_THAT(ledger.Gathered(), IsEmpty());
  EXPECT_EQ(ledger.in_use(), 1u) << "a plan is open";
  ledger.Ended(kRound);
  EXPECT_EQ(ledger.in_use(), 0u);
}

TEST(RoundLedgerTest, ARoundWithAnOpenPlanIsNoOrphan) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Issued(kRound);
  ledger.Lost(kRound);
  EXPECT_TRUE(Answer(ledger, /*fenced_at=*/0, /*taken=*/true));
  EXPECT_THAT(ledger.TakeOrphans(), IsEmpty());
  // The other one breaks off: nobody would close the round.
  ledger.Ended(kRound);
  EXPECT_THAT(ledger.TakeOrphans(), ElementsAre(kRound));
  EXPECT_THAT(ledger.TakeOrphans(), IsEmpty()) << "each is listed once";
}

TEST(RoundLedgerTest, ThePolicyClosesARoundThatHasALivePush) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Issued(kRound);
  ledger.Pushed(kRound, {kSamples});
  ledger.Lost(kRound);
  EXPECT_TRUE(Answer(ledger, /*fenced_at=*/0, /*taken=*/true));
  EXPECT_THAT(ledger.TakeOrphans(), IsEmpty());
}

TEST(RoundLedgerTest, NothingGatheredIsNothingToDrain) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Ended(kRound);
  EXPECT_THAT(ledger.TakeOrphans(), IsEmpty());
  EXPECT_THAT(ledger.Undrained(), IsEmpty());
}

TEST(RoundLedgerTest, AClosingAfterTheFenceDrainsItsLeftovers) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Lost(kRound);
  ledger.Drained(kRound, 4);
  EXPECT_FALSE(Answer(ledger, /*fenced_at=*/3, /*taken=*/true));
  EXPECT_THAT(ledger.TakeOrphans(), IsEmpty());
}

TEST(RoundLedgerTest, AClosingBeforeTheFenceDoesNot) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Drained(kRound, 3);
  ledger.Lost(kRound);
  EXPECT_TRUE(Answer(ledger, /*fenced_at=*/3, /*taken=*/true));
  EXPECT_THAT(ledger.TakeOrphans(), ElementsAre(kRound));
}

TEST(RoundLedgerTest, LeftoversOfTheFirstLossWaitForTheLastPlan) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Issued(kRound);
  ledger.Lost(kRound);
  EXPECT_TRUE(Answer(ledger, /*fenced_at=*/0, /*taken=*/true));
  EXPECT_THAT(ledger.TakeOrphans(), IsEmpty());
  ledger.Lost(kRound);
  EXPECT_FALSE(Answer(ledger, /*fenced_at=*/0, /*taken=*/false));
  EXPECT_THAT(ledger.TakeOrphans(), ElementsAre(kRound));
}

TEST(RoundLedgerTest, ADrainedRoundIsInUseUntilAllServersHavePerformedIt) {
  RoundLedger ledger(/*acknowledging_servers=*/2);
  ledger.Issued(kRound);
  ledger.Pushed(kRound, {kSamples});
  ledger.Drained(kRound, 1);
  ledger.Performed(0, 1);
  EXPECT_EQ(ledger.in_use(), 1u);
  ledger.Performed(1, 3);
  EXPECT_EQ(ledger.in_use(), 0u);
}

TEST(RoundLedgerTest, HasRoomForKnownRoundsAlways) {
  RoundLedger ledger;
  for (uint64_t i = 1; i <= kMaxOpenRounds; ++i) {
    EXPECT_TRUE(ledger.HasRoomFor(RoundId{i}));
    ledger.Issued(RoundId{i});
  }
  EXPECT_LT(ledger.free(), 0);
  EXPECT_TRUE(ledger.HasRoomFor(RoundId{1}));
  EXPECT_FALSE(ledger.HasRoomFor(RoundId{99}));
  ledger.Ended(RoundId{1});
  EXPECT_TRUE(ledger.HasRoomFor(RoundId{99}));
}

}  // namespace
}  // namespace paceline
