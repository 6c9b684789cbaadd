#include "services/coordinator/policy/round_ledger.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr RoundId kRound{7};

TEST(RoundLedgerTest, ARoundWithAnOpenPlanIsNoOrphan) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Issued(kRound);
  ledger.Ended(kRound, /*gathered=*/true);
  EXPECT_FALSE(ledger.Orphaned(kRound));
  ledger.Lost(kRound);
  EXPECT_TRUE(ledger.Orphaned(kRound));
  EXPECT_THAT(ledger.Undrained(), ElementsAre(kRound));
  ledger.Drained(kRound, 1);
  EXPECT_FALSE(ledger.Orphaned(kRound));
  EXPECT_THAT(ledger.Undrained(), IsEmpty());
}

TEST(RoundLedgerTest, NothingGatheredIsNothingToDrain) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Ended(kRound, /*gathered=*/false);
  EXPECT_FALSE(ledger.Orphaned(kRound));
  EXPECT_THAT(ledger.Undrained(), IsEmpty());
}

TEST(RoundLedgerTest, AClosingAfterTheFenceDrainsItsLeftovers) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Lost(kRound);
  ledger.Drained(kRound, 4);
  EXPECT_FALSE(ledger.Answered(kRound, /*fenced_at=*/3, /*taken=*/true));
  EXPECT_FALSE(ledger.Orphaned(kRound));
}

TEST(RoundLedgerTest, AClosingBeforeTheFenceDoesNot) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Drained(kRound, 3);
  ledger.Lost(kRound);
  EXPECT_TRUE(ledger.Answered(kRound, /*fenced_at=*/3, /*taken=*/true));
  EXPECT_TRUE(ledger.Orphaned(kRound));
}

TEST(RoundLedgerTest, LeftoversOfTheFirstLossWaitForTheLastPlan) {
  RoundLedger ledger;
  ledger.Issued(kRound);
  ledger.Issued(kRound);
  ledger.Lost(kRound);
  EXPECT_TRUE(ledger.Answered(kRound, /*fenced_at=*/0, /*taken=*/true));
  EXPECT_FALSE(ledger.Orphaned(kRound));
  ledger.Lost(kRound);
  EXPECT_FALSE(ledger.Answered(kRound, /*fenced_at=*/0, /*taken=*/false));
  EXPECT_TRUE(ledger.Orphaned(kRound));
}

}  // namespace
}  // namespace paceline
