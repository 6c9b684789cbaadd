// Blocks that are drained before the closing that drains them is ordered.

#include "services/parameter_server/announced_closing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "common/rng.h"
#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kRound = 7;

Puller AnyPuller() {
  return {.owner = 1, .incarnation = 1, .deadline = absl::InfiniteFuture()};
}

// The next closing: of two gradients, at rate 1.
AnnouncedClosing Next(int64_t closing = 1, uint64_t round = kRound) {
  return {.closing = closing, .round = round, .gradients = 2, .rate = 1};
}

class AnnouncedClosingTest : public testing::Test {
 protected:
  void Push(uint64_t worker, uint32_t block, float gradient) {
    ASSERT_TRUE(
        PushAndDrain(*shard_, RoundPush(worker, 1, block, kRound), gradient)
            .ok());
  }
  // Wants closing 1, and hears of its blocks.
  void Pull() {
    shard_->Pull(AnyPuller(), 1, pulled_.callback(),
                 [this](const PulledBlock& block) {
                   early_.push_back(block.id);
                   EXPECT_EQ(block.state->weights()[0], -3);
                 });
  }

  std::unique_ptr<JobShard> shard_ = MakeShard(SmallConfig(2));
  PullResult pulled_;
  std::vector<uint32_t> early_;
};

TEST_F(AnnouncedClosingTest, ABlockIsDrainedByTheLastOfItsGradients) {
  ASSERT_TRUE(shard_->Announce(Next()).ok());
  Pull();
  Push(1, 10, 1);
  Push(1, 11, 1);
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(0, 0));
  Push(2, 10, 2);
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-3, 0));
  EXPECT_THAT(early_, ElementsAre(10));
  EXPECT_EQ(pulled_.calls(), 0);
  Push(2, 11, 2);
  EXPECT_THAT(early_, ElementsAre(10, 11));
  ASSERT_EQ(pulled_.calls(), 1) << "nothing is missing";
  EXPECT_THAT(Values(pulled_.blocks()), ElementsAre(-3, -3));
  // The closing itself has nothing left to do, and knows what was done.
  const auto mean = shard_->Close(1, {kRound}, 1);
  ASSERT_TRUE(mean.ok() && mean->has_value()) << mean.status();
  EXPECT_EQ((*mean)->samples, 2 * kTestBatch);
  EXPECT_DOUBLE_EQ((*mean)->square, 10 * 1.5 * 1.5);
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-3, -3));
  EXPECT_EQ(PullNow(*shard_).closing, 1);
  EXPECT_EQ(shard_->Counters().open_rounds, 0u);
}

TEST_F(AnnouncedClosingTest, WhatCameBeforeItIsDrainedWithIt) {
  Pull();
  for (const uint64_t worker : {1, 2}) {
    Push(worker, 10, 1.5);
    Push(worker, 11, 1.5);
  }
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(0, 0));
  ASSERT_TRUE(shard_->Announce(Next()).ok());
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-3, -3));
  EXPECT_EQ(pulled_.calls(), 1);
}

// Somebody was lost, or a block of somebody's was refused.
TEST_F(AnnouncedClosingTest, WhatIsMissingWaitsForTheClosing) {
  ASSERT_TRUE(shard_->Announce(Next()).ok());
  Pull();
  Push(1, 10, 1);
  Push(1, 11, 3);
  Push(2, 10, 2);
  Push(2, 11, std::numeric_limits<float>::infinity());
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-3, 0));
  EXPECT_EQ(pulled_.calls(), 0);
  const auto mean = shard_->Close(1, {kRound}, 1);
  ASSERT_TRUE(mean.ok()) << mean.status();
  EXPECT_EQ(*mean, std::nullopt) << "blocks are of unlike samples";
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-3, -3));
  EXPECT_EQ(pulled_.calls(), 1);
  EXPECT_THAT(early_, ElementsAre(10, 11)) << "each is told once";
}

// A member of another round has pushed twice, say: the rest is drained, too.
TEST_F(AnnouncedClosingTest, WhatComesAfterItIsNotLost) {
  ASSERT_TRUE(shard_->Announce(Next()).ok());
  for (const uint64_t worker : {1, 2, 3}) {
    Push(worker, 10, 1);
    Push(worker, 11, 1);
  }
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-2, -2));
  const auto mean = shard_->Close(1, {kRound}, 1);
  ASSERT_TRUE(mean.ok()) << mean.status();
  EXPECT_EQ(*mean, std::nullopt) << "it came in two parts";
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-3, -3));
}

TEST_F(AnnouncedClosingTest, OnlyTheNextClosingCounts) {
  ASSERT_TRUE(shard_->Announce(Next(2)).ok());
  Push(1, 10, 1);
  Push(2, 10, 1);
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(0, 0)) << "another one is next";
  ASSERT_TRUE(shard_->Announce(Next(1)).ok());
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-2, 0));
  ASSERT_TRUE(shard_->Close(1, {kRound}, 1).ok());
  // Leftovers of a round that is closed are of a later closing.
  Push(1, 11, 1);
  Push(2, 11, 1);
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-2, 0));
  ASSERT_TRUE(shard_->Announce(Next(1)).ok()) << "it is over";
  EXPECT_THAT(ValuesNow(*shard_), ElementsAre(-2, 0));
}

TEST_F(AnnouncedClosingTest, AnAbsurdOneIsRefused) {
  AnnouncedClosing wrong = Next();
  wrong.rate = -1;
  EXPECT_TRUE(absl::IsInvalidArgument(shard_->Announce(wrong)));
  wrong = Next();
  wrong.gradients = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(shard_->Announce(wrong)));
  shard_->Stop("the run is over");
  EXPECT_TRUE(absl::IsUnavailable(shard_->Announce(Next())));
}

TEST_F(AnnouncedClosingTest, AShardOfFrozenBlocksWaitsForTheClosing) {
  ShardConfig config = SmallConfig(1);
  config.blocks[0].kind = TensorKind::kFrozen;
  shard_ = MakeShard(config);
  shard_->Pull(AnyPuller(), 1, pulled_.callback());
  ASSERT_TRUE(shard_->Announce(Next()).ok());
  EXPECT_EQ(pulled_.calls(), 0);
}

// With momentum a round that were applied in parts would come to other weights.
TEST_F(AnnouncedClosingTest, TheWeightsAreThoseOfTheClosingsAlone) {
  const auto weights = [](bool announces) {
    const auto shard = MakeShard(SmallConfig(3, "sgd:momentum=0.9"));
    Rng rng(3);
    for (int64_t round = 1; round <= 20; ++round) {
      if (announces) {
        EXPECT_TRUE(shard
                        ->Announce({
                            .closing = round,
                            .round = 5,
                            .gradients = 3,
                            .rate = 0.1,
                        })
                        .ok());
      }
      for (uint64_t worker = 1; worker <= 3; ++worker) {
        for (const uint32_t block : {10, 11, 12}) {
          EXPECT_TRUE(PushAndDrain(*shard, RoundPush(worker, round, block, 5),
                                   static_cast<float>(rng.Below(100)))
                          .ok());
        }
      }
      EXPECT_TRUE(shard->Close(round, {5}, 0.1).ok());
    }
    return ValuesNow(*shard);
  };
  EXPECT_EQ(weights(true), weights(false));
}

}  // namespace
}  // namespace paceline
