
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "services/parameter_server/contributors.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Takes a block that has not been taken; null if it had been.
PushOutcome TakeNew(Contributor& contributor, int64_t iteration, uint32_t index,
                    bool refused = false, double square = 0) {
  const auto begun = contributor.Begin(iteration, index, 8);
  EXPECT_TRUE(begun.ok()) << begun.status();
  EXPECT_FALSE(begun->has_value()) << "taken before";
  contributor.Finish(iteration, index, 100 + index,
                     refused ? std::nullopt : std::optional(square));
  return contributor.End(index);
}

TEST(ContributorTest, IsCompleteWhenAllBlocksAreTaken) {
  Contributor contributor(3, 3);
  EXPECT_FALSE(TakeNew(contributor, 1, 2).complete);
  EXPECT_FALSE(TakeNew(contributor, 1, 0).complete);
  EXPECT_TRUE(TakeNew(contributor, 1, 1).complete);
  EXPECT_FALSE(TakeNew(contributor, 2, 1).complete);
}

TEST(ContributorTest, RepeatedBlockIsAnsweredAndNotTaken) {
  Contributor contributor(2, 2);
  TakeNew(contributor, 1, 0);
  auto again = contributor.Begin(1, 0, 8);
  ASSERT_TRUE(again.ok() && again->has_value());
  EXPECT_FALSE((*again)->complete);
  TakeNew(contributor, 1, 1);
  again = contributor.Begin(1, 0, 8);
  ASSERT_TRUE(again.ok() && again->has_value());
  EXPECT_TRUE((*again)->complete)
      << "so that a lost acknowledgement comes again";
}

// Two streams bring blocks of one iteration. The one that takes the last block
// is through with it, and the other is not yet.
TEST(ContributorTest, AnIterationIsCompleteOnceAllAreThroughWithIt) {
  Contributor contributor(2, 2);
  ASSERT_FALSE(contributor.Begin(1, 0, 8)->has_value());
  EXPECT_FALSE(contributor.Finish(1, 0, 100, 0));
  ASSERT_FALSE(contributor.Begin(1, 1, 8)->has_value());
  EXPECT_TRUE(contributor.Finish(1, 1, 101, 0));
  EXPECT_FALSE(contributor.End(1).complete);
  auto again = contributor.Begin(1, 1, 8);
  ASSERT_TRUE(again.ok() && again->has_value());
  EXPECT_FALSE((*again)->complete);
  EXPECT_TRUE(contributor.End(0).complete);
}

// The first stream repeats a push and hears that it is complete. The worker
// goes on, and the second one has not repeated its part yet.
TEST(ContributorTest, WhatIsRepeatedOfACompleteIterationComesLate) {
  Contributor contributor(2, 2);
  TakeNew(contributor, 1, 0);
  TakeNew(contributor, 1, 1);
  TakeNew(contributor, 2, 0);
  const auto late = contributor.Begin(1, 1, 8);
  ASSERT_TRUE(late.ok() && late->has_value());
  EXPECT_FALSE((*late)->complete);
  EXPECT_TRUE(TakeNew(contributor, 2, 1).complete);
}

// So it is at a backup that takes the primary's place.
TEST(ContributorTest, WhatWasCompleteAtThePrimaryComesLate) {
  Contributor contributor(2, 2);
  for (const uint32_t index : {0, 1}) {
    contributor.Replay(index, 100 + index,
                       {.incarnation = 1, .iteration = 4, .samples = 8});
  }
  TakeNew(contributor, 5, 0);
  const auto late = contributor.Begin(4, 1, 8);
  ASSERT_TRUE(late.ok() && late->has_value());
  EXPECT_FALSE((*late)->complete);
}

TEST(ContributorTest, RefusedBlocksCountAsTakenAndAreNamed) {
  Contributor contributor(3, 3);
  TakeNew(contributor, 1, 2, /*refused=*/true);
  TakeNew(contributor, 1, 0, /*refused=*/true);
  const PushOutcome outcome = TakeNew(contributor, 1, 1);
  EXPECT_TRUE(outcome.complete);
  EXPECT_THAT(outcome.refused, ElementsAre(100, 102));
  EXPECT_THAT(TakeNew(contributor, 2, 0).refused, IsEmpty());
}

TEST(ContributorTest, AddsUpTheSquaresOfAnIteration) {
  Contributor contributor(2, 2);
  TakeNew(contributor, 1, 0, /*refused=*/false, 4);
  EXPECT_EQ(TakeNew(contributor, 1, 1, false, 0.5).gradient_square, 4.5);
  EXPECT_EQ((*contributor.Begin(1, 0, 8))->gradient_square, 4.5) << "again";
  // Those of the last one are not among them, nor those that were refused.
  TakeNew(contributor, 2, 0, false, 1);
  EXPECT_EQ(TakeNew(contributor, 2, 1, /*refused=*/true).gradient_square,
            std::nullopt);
  TakeNew(contributor, 3, 0, /*refused=*/true);
  EXPECT_EQ(TakeNew(contributor, 3, 1, false, 1).gradient_square, std::nullopt);
  // Nor those that another server has taken.
  contributor.Replay(0, 100, {.incarnation = 1, .iteration = 4, .samples = 8});
  EXPECT_EQ(TakeNew(contributor, 4, 1, false, 1).gradient_square, std::nullopt);
  TakeNew(contributor, 5, 0, false, 1);
  EXPECT_EQ(TakeNew(contributor, 5, 1, false, 1).gradient_square, 2);
}

TEST(ContributorTest, ABlockThatWasNotTakenMayComeAgain) {
  Contributor contributor(1, 1);
  ASSERT_FALSE(contributor.Begin(1, 0, 8)->has_value());
  contributor.End(0);
  EXPECT_TRUE(TakeNew(contributor, 1, 0).complete);
}

TEST(ContributorTest, EarlierIterationIsOver) {
  Contributor contributor(2, 2);
  TakeNew(contributor, 5, 0);
  TakeNew(contributor, 6, 1);
  const auto late = contributor.Begin(5, 1, 8);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(late.status().message()),
              HasSubstr("iteration 5 was pushed after iteration 6"));
}

// Iteration 2 begins while another thread still takes a block of iteration 1.
TEST(ContributorTest, LateFinishDoesNotCountForTheNextIteration) {
  Contributor contributor(2, 2);
  ASSERT_FALSE(contributor.Begin(1, 0, 8)->has_value());
  EXPECT_FALSE(TakeNew(contributor, 2, 1).complete);
  EXPECT_FALSE(contributor.Finish(1, 0, 100, 0));
  EXPECT_FALSE(contributor.End(0).complete);
  EXPECT_TRUE(TakeNew(contributor, 2, 0).complete);
}

TEST(ContributorTest, FenceSaysWhatWasTakenAndEndsIt) {
  Contributor contributor(3, 3);
  TakeNew(contributor, 1, 0);
  TakeNew(contributor, 4, 1);
  TakeNew(contributor, 4, 2, /*refused=*/true);
  const FencedPush want{
      .iteration = 4, .blocks_taken = 2, .blocks = 3, .samples = 8};
  EXPECT_EQ(contributor.Fence(), want);
  EXPECT_EQ(contributor.Begin(4, 0, 8).status().code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(contributor.Begin(4, 1, 8).status().code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(contributor.Fence(), want);
}

TEST(ContributorsTest, AReplayedFenceMakesRoomForAnother) {
  Contributors contributors(1, 1, /*limit=*/1);
  ASSERT_TRUE(contributors.Find(1).ok());
  ASSERT_FALSE(contributors.Find(2).ok());
  const FencedPush answer{
      .iteration = 4, .blocks_taken = 1, .blocks = 1, .samples = 8};
  contributors.ReplayFence(1, answer);
  EXPECT_TRUE(contributors.Find(2).ok());
  EXPECT_EQ(contributors.Fence(1), answer);
}

TEST(ContributorsTest, FencesOneItNeverSaw) {
  Contributors contributors(3, 3, 10);
  EXPECT_FALSE(contributors.IsFenced(7));
  EXPECT_EQ(contributors.Fence(7),
            (FencedPush{.iteration = 0, .blocks_taken = 0, .blocks = 3}));
  EXPECT_TRUE(contributors.IsFenced(7));
  EXPECT_EQ((*contributors.Find(7))->Begin(1, 0, 8).status().code(),
            absl::StatusCode::kAborted);
}

TEST(ContributorsTest, BoundsTheUnfencedOnes) {
  Contributors contributors(1, 1, 2);
  ASSERT_TRUE(contributors.Find(1).ok());
  ASSERT_TRUE(contributors.Find(2).ok());
  ASSERT_TRUE(contributors.Find(2).ok());
  EXPECT_EQ(contributors.Find(3).status().code(),
            absl::StatusCode::kResourceExhausted);
  contributors.Fence(1);
  contributors.Fence(1);
  EXPECT_TRUE(contributors.Find(3).ok());
  EXPECT_FALSE(contributors.Find(4).ok()) << "one fence frees one place";
}

// The streams of a group ask for a part each.
TEST(ContributorTest, WhatIsKeptForARequestStays) {
  Contributor contributor(1, 1);
  const auto pulled = [](int64_t closing) {
    PulledBlocks blocks;
    blocks.closing = closing;
    blocks.blocks.push_back({.id = 100, .state = nullptr});
    return blocks;
  };
  EXPECT_EQ(contributor.Keep(1, pulled(4)).closing, 4);
  EXPECT_EQ(contributor.Keep(1, pulled(5)).closing, 4);
  EXPECT_EQ(contributor.Keep(2, pulled(6)).closing, 6);
  // Without a number each is another one.
  EXPECT_EQ(contributor.Keep(0, pulled(7)).closing, 7);
  EXPECT_EQ(contributor.Keep(0, pulled(8)).closing, 8);
}

// Freeing a model takes time, and may come back.
TEST(ContributorTest, AFenceFreesWhatWasKeptOutsideItsLock) {
  Contributor contributor(1, 1);
  bool freed = false;
  {
    PulledBlocks pulled;
    pulled.blocks.push_back(
        {.id = 100,
         .state = std::shared_ptr<const BlockState>(
             new BlockState(1, 0), [&](const BlockState* state) {
               freed = true;
               EXPECT_EQ(contributor.Kept(0), nullptr);
               delete state;
             })});
    contributor.Keep(1, pulled);
  }
  EXPECT_FALSE(freed);
  contributor.Fence();
  EXPECT_TRUE(freed);
}

}  // namespace
}  // namespace paceline
