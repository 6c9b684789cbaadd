#include "services/coordinator/run/decision_filter.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

absl::Time Second(double seconds) {
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
    EXPECT_STREQ(filter.Offer(kind, Second(1)), category.c_str());
    EXPECT_EQ(filter.TakeOmitted(category), 0);
  }
  DecisionFilter filter;
  for (const DecisionKind kind :
       {DecisionKind::kWithinBound, DecisionKind::kNotFastest,
        DecisionKind::kCaughtUp, DecisionKind::kColdStart,
        DecisionKind::kCapped}) {
    EXPECT_EQ(filter.Offer(kind, Second(1)), nullptr);
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
    const bool told = filter.Offer(DecisionKind::kTooStale,
                                   Second(1 + i * 0.0009)) != nullptr;
    kept += told ? 1 : 0;
  }
  EXPECT_EQ(kept, 10);
  // Other categories are told still; of this one, any kind counts.
  EXPECT_NE(filter.Offer(DecisionKind::kLost, Second(1.95)), nullptr);
  EXPECT_EQ(filter.Offer(DecisionKind::kTooLate, Second(1.95)), nullptr);
  EXPECT_NE(filter.Offer(DecisionKind::kTooStale, Second(2)), nullptr);
  EXPECT_EQ(filter.TakeOmitted("discard"), 991);
  EXPECT_EQ(filter.TakeOmitted("discard"), 0);
}

TEST(DecisionFilterTest, AStormTellsTenASecondAndLosesNoCount) {
  DecisionFilter filter;
  int64_t kept = 0;
  int64_t omitted = 0;
  constexpr int kOffered = 100'000;
  for (int i = 0; i < kOffered; ++i) {
    if (filter.Offer(DecisionKind::kRefreshed, Second(i * 0.0001)) == nullptr) {
      continue;
    }
    ++kept;
    omitted += filter.TakeOmitted("refresh");
  }
  EXPECT_GE(kept, 100);
  EXPECT_LE(kept, 110);
  EXPECT_EQ(kept + omitted + filter.TakeOmitted("refresh"), kOffered);
}

TEST(DecisionFilterTest, WhatIsLeftOutLaterIsCountedToo) {
  DecisionFilter filter;
  EXPECT_NE(filter.Offer(DecisionKind::kLost, Second(1)), nullptr);
  for (const char* const category :
       {"worker-lost", "worker-lost", "switch", "worker-lost"}) {
    filter.LeaveOut(category);
  }
  EXPECT_EQ(filter.TakeOmitted("worker-lost"), 3);
  EXPECT_EQ(filter.TakeOmitted("worker-lost"), 0);
  // One that no decision of a paradigm is in.
  EXPECT_EQ(filter.TakeOmitted("switch"), 1);
}

TEST(DecisionFilterTest, WhatComesSlowlyIsAllTold) {
  DecisionFilter filter;
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(filter.Offer(DecisionKind::kLost, Second(i * 0.11)), nullptr);
    EXPECT_EQ(filter.TakeOmitted("worker-lost"), 0);
  }
}

}  // namespace
}  // namespace paceline
