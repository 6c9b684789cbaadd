#include "services/coordinator/sync/core/decision.h"

#include <set>

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr WorkerId kWorker{7};

TEST(DecisionTest, ReadsAsASentence) {
  EXPECT_EQ(Render(Decision{DecisionKind::kWaitForSlowest, kWorker, 5, 3}),
            "gap 5 exceeds the bound 3: waits for the slowest worker");
  EXPECT_EQ(Render(Decision{DecisionKind::kRoundClosed, kWorker, 4, 1}),
            "round 4 is complete with 1 push");
  EXPECT_EQ(Render(Decision{DecisionKind::kLost, kWorker,
                            static_cast<int64_t>(LossReason::kLeaseEnded), 12}),
            "lost (lease ended) in iteration 12");
  EXPECT_EQ(Render(Decision{DecisionKind::kRangeReturned, kWorker, 2, 64, 96}),
            "samples [64, 96) of epoch 2 are dealt again");
}

TEST(DecisionTest, EveryKindHasItsOwnWords) {
  std::set<std::string> sentences;
  constexpr int kLast = static_cast<int>(DecisionKind::kDealingStopped);
  for (int kind = 0; kind <= kLast; ++kind) {
    const std::string sentence =
        Render(Decision{static_cast<DecisionKind>(kind), kWorker, 1, 2, 3});
    EXPECT_FALSE(sentence.empty()) << kind;
    EXPECT_FALSE(sentence.ends_with('.')) << sentence;
    sentences.insert(sentence);
  }
  EXPECT_EQ(sentences.size(), kLast + 1u);
}

TEST(DecisionTest, NamesEveryReasonOfALoss) {
  EXPECT_EQ(Render(LossReason::kStreamBroken), "stream broken");
  EXPECT_EQ(Render(LossReason::kLeaseEnded), "lease ended");
  EXPECT_EQ(Render(LossReason::kStuck), "stuck");
  EXPECT_EQ(Render(LossReason::kDeparted), "departed");
}

}  // namespace
}  // namespace paceline
