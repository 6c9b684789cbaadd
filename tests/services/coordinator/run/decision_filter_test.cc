#include "services/coordinator/run/decision_filter.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

TEST(DecisionFilterTest, TellsWhatIsNotOfEveryPush) {
  const std::vector<std::pair<DecisionKind, std::string>> told = {
      {DecisionKind::kLost, "worker-lost"},
      {DecisionKind::kLostPushTaken, "worker-lost"},
      {DecisionKind::kRangeReturned, "worker-lost"},
      {DecisionKind::kPartialPush, "worker-lost"},
      {DecisionKind::kBlocksRefused, "discard"},
      {DecisionKind::kPushDiscarded, "discard"},
      {DecisionKind::kTooStale, "discard"},
      {DecisionKind::kTooLate, "discard"},
      {DecisionKind::kRefreshed, "refresh"},
      {DecisionKind::kRegrouped, "regroup"},
      {DecisionKind::kStraggler, "straggler"},
      {DecisionKind::kNoStraggler, "straggler"},
      {DecisionKind::kHandedOver, "handover"},
      {DecisionKind::kDealingStopped, "stop"},
  };
  for (const auto& [kind, category] : told) {
    DecisionFilter filter;
    const auto kept = filter.Offer(kind, At(1));
    ASSERT_TRUE(kept.has_value()) << category;
    EXPECT_EQ(kept->category, category);
    EXPECT_EQ(kept->omitted, 0);
  }
  DecisionFilter filter;
  for (const DecisionKind kind :
       {DecisionKind::kWithinBound, DecisionKind::kNotFastest,
        DecisionKind::kCaughtUp, DecisionKind::kColdStart,
        DecisionKind::kCapped}) {
    EXPECT_FALSE(filter.Offer(kind, At(1)).has_value());
  }
}

TEST(DecisionFilterTest, ALossCostsWorkAndAPoliteLeaveDoesNot) {
  const auto lost = [](LossReason reason) {
    return CostsWork(
        {DecisionKind::kLost, WorkerId{1}, static_cast<int64_t>(reason)});
  };
  for (const LossReason reason :
       {LossReason::kStreamBroken, LossReason::kLeaseEnded, LossReason::kStuck,
        LossReason::kFailed}) {
    EXPECT_TRUE(lost(reason)) << Render(reason);
  }
  EXPECT_FALSE(lost(LossReason::kDeparted));
  for (const DecisionKind kind :
       {DecisionKind::kPartialPush, DecisionKind::kBlocksRefused,
        DecisionKind::kPushDiscarded}) {
    EXPECT_TRUE(CostsWork({kind, WorkerId{1}})) << NameOf(kind);
  }
  // By the paradigm's own rule, and what follows a loss or is none.
  for (const DecisionKind kind :
       {DecisionKind::kTooStale, DecisionKind::kTooLate,
        DecisionKind::kRangeReturned, DecisionKind::kLostPushTaken,
        DecisionKind::kRegrouped, DecisionKind::kDealingStopped}) {
    EXPECT_FALSE(CostsWork({kind, WorkerId{1}})) << NameOf(kind);
  }
}

TEST(DecisionFilterTest, TenOfACategoryInASecond) {
  DecisionFilter filter;
  int kept = 0;
  for (int i = 0; i < 1'000; ++i) {
    kept +=
        filter.Offer(DecisionKind::kTooStale, At(1 + i * 0.0009)).has_value()
            ? 1
            : 0;
  }
  EXPECT_EQ(kept, 10);
  // Other categories are told still; of this one, any kind counts.
  EXPECT_TRUE(filter.Offer(DecisionKind::kLost, At(1.95)).has_value());
  EXPECT_FALSE(filter.Offer(DecisionKind::kTooLate, At(1.95)).has_value());
  const auto next = filter.Offer(DecisionKind::kTooStale, At(2));
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->omitted, 991);
  EXPECT_EQ(filter.Offer(DecisionKind::kTooStale, At(2))->omitted, 0);
}

TEST(DecisionFilterTest, AStormTellsTenASecondAndLosesNoCount) {
  DecisionFilter filter;
  int64_t kept = 0;
  int64_t omitted = 0;
  constexpr int kOffered = 100'000;
  for (int i = 0; i < kOffered; ++i) {
    const auto offered = filter.Offer(DecisionKind::kRefreshed, At(i * 0.0001));
    if (!offered.has_value()) continue;
    ++kept;
    omitted += offered->omitted;
  }
  EXPECT_GE(kept, 100);
  EXPECT_LE(kept, 110);
  const auto last = filter.Offer(DecisionKind::kRefreshed, At(1'000));
  EXPECT_EQ(kept + omitted + last->omitted, kOffered);
}

TEST(DecisionFilterTest, WhatIsLeftOutLaterIsCountedToo) {
  DecisionFilter filter;
  EXPECT_TRUE(filter.Offer(DecisionKind::kLost, At(1)).has_value());
  filter.LeaveOut("worker-lost", 3);
  filter.LeaveOut("discard", 1);
  EXPECT_EQ(filter.Offer(DecisionKind::kLost, At(1))->omitted, 3);
  EXPECT_EQ(filter.Offer(DecisionKind::kLost, At(1))->omitted, 0);
}

TEST(DecisionFilterTest, WhatComesSlowlyIsAllTold) {
  DecisionFilter filter;
  for (int i = 0; i < 100; ++i) {
    const auto kept = filter.Offer(DecisionKind::kLost, At(i * 0.11));
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(kept->omitted, 0);
  }
}

}  // namespace
}  // namespace paceline
