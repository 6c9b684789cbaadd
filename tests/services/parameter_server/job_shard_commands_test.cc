#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/services/parameter_server/job_shard_testing.h"

// The coordinator's numbered commands: rounds, fences, snapshots.

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

TEST(JobShardCommandsTest, RoundIsItsGradientsBySamplesAtLinearStrength) {
  const auto shard = MakeShard(SmallConfig(1));
  PushBlock push = RoundPush(1, 1, 10, 5);
  push.samples = 12;
  push.weight = 0.5f;
  ASSERT_TRUE(Push(*shard, push, 4).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(2, 1, 10, 5), 10).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(0))
      << "nothing before the closing";
  ASSERT_TRUE(shard->Close(1, 1, {5}, 0.5).ok());
  // (12 * 0.5 * 4 + 4 * 10) / 16 = 4 at strength 16 / 4 and rate 0.5.
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-8));
  EXPECT_EQ(PullNow(*shard).closing, 1);
}

TEST(JobShardCommandsTest, StrengthOfARoundFollowsF) {
  for (const auto& [f, want] : {std::pair{RoundStrength::kLinear, -40.0f},
                                {RoundStrength::kSqrt, -20.0f},
                                {RoundStrength::kConstant, -10.0f}}) {
    ShardConfig config = SmallConfig(1);
    config.round_strength = f;
    const auto shard = MakeShard(config);
    for (uint64_t worker = 1; worker <= 4; ++worker) {
      ASSERT_TRUE(Push(*shard, RoundPush(worker, 1, 10, 5), 10).ok());
    }
    ASSERT_TRUE(shard->Close(1, 1, {5}, 1).ok());
    EXPECT_THAT(ValuesNow(*shard), ElementsAre(want));
  }
}

TEST(JobShardCommandsTest, SeveralRoundsCloseAsOneUpdate) {
  const auto shard = MakeShard(SmallConfig(1, "sgd:momentum=0.5"));
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(2, 1, 10, 6), 2).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(3, 1, 10, 7), 4).ok());
  ASSERT_TRUE(shard->Close(1, 1, {5, 7}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-5));
  EXPECT_EQ(PullNow(*shard).blocks[0].state->steps(), 1u) << "one update";
  EXPECT_EQ(shard->Counters().open_rounds, 1u);
  ASSERT_TRUE(shard->Close(2, 2, {6}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-5 - (2.5f + 2)));
}

// The closing comes between two blocks of one push: block 11 gathers under the
// same round again and is applied, once, by the next closing that names it.
TEST(JobShardCommandsTest, PushSplitByAClosingIsAppliedOncePerBlock) {
  const auto shard = MakeShard(SmallConfig(2));
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 3).ok());
  ASSERT_TRUE(shard->Close(1, 1, {5}, 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 11, 5), 3).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-3, 0));
  ASSERT_TRUE(shard->Close(2, 2, {5}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-3, -3));
  EXPECT_EQ(shard->Counters().updates, 2u) << "no update of a block with none";
}

TEST(JobShardCommandsTest, CommandsAreAppliedOnceAndInOrder) {
  const auto shard = MakeShard(SmallConfig(1));
  EXPECT_EQ(shard->last_sequence(), 0u);
  EXPECT_EQ(shard->Close(2, 1, {5}, 1).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(shard->Fence(2, 1).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(shard->Snapshot(3, 1).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(shard->ReleaseSnapshot(3, 1).code(),
            StatusCode::kFailedPrecondition);
  ASSERT_TRUE(shard->Close(1, 1, {5}, 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 3).ok());
  EXPECT_TRUE(shard->Close(1, 1, {5}, 1).ok()) << "a resent command is ignored";
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(0));
  ASSERT_TRUE(shard->Snapshot(2, 8).ok());
  EXPECT_TRUE(shard->Snapshot(2, 8).ok());
  ASSERT_TRUE(shard->ReleaseSnapshot(3, 8).ok());
  EXPECT_TRUE(shard->Snapshot(2, 8).ok());
  EXPECT_EQ(shard->Counters().snapshots, 0u);
  EXPECT_EQ(shard->last_sequence(), 3u);
}

TEST(JobShardCommandsTest, UnsoundClosingIsNotApplied) {
  const auto shard = MakeShard(SmallConfig(1));
  ASSERT_TRUE(shard->Close(1, 4, {}, 1).ok());
  EXPECT_EQ(shard->Close(2, 4, {}, 1).code(), StatusCode::kInvalidArgument);
  for (const double rate : {-1.0, 1e9, 0.0 / 0.0}) {
    EXPECT_EQ(shard->Close(2, 5, {}, rate).code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(shard->last_sequence(), 1u);
  EXPECT_TRUE(shard->Close(2, 5, {}, 0).ok());
}

TEST(JobShardCommandsTest, FenceAnswersWhatWasTakenAndRefusesTheRest) {
  const auto shard = MakeShard(SmallConfig(3));
  for (const uint32_t block : {10, 11, 12}) {
    ASSERT_TRUE(Push(*shard, PlainPush(1, 6, block), 1).ok());
  }
  ASSERT_TRUE(Push(*shard, PlainPush(1, 7, 11), 1).ok());
  const FencedPush want{
      .iteration = 7, .blocks_taken = 1, .blocks = 3, .samples = 4};
  EXPECT_EQ(*shard->Fence(1, 1), want);
  for (const int64_t iteration : {7, 8}) {
    EXPECT_EQ(Push(*shard, PlainPush(1, iteration, 12), 1).status().code(),
              StatusCode::kAborted);
  }
  EXPECT_EQ(*shard->Fence(1, 1), want) << "the answer may have been lost";
  EXPECT_EQ(shard->Fence(1, 2).status().code(), StatusCode::kInvalidArgument)
      << "command 1 was about another incarnation";
  EXPECT_TRUE(Push(*shard, PlainPush(2, 1, 12), 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1, -2, -2));
}

TEST(JobShardCommandsTest, WhatAFencedWorkerHadGatheredIsStillClosed) {
  const auto shard = MakeShard(SmallConfig(2));
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 3).ok());
  ASSERT_TRUE(shard->Fence(1, 1).ok());
  ASSERT_TRUE(shard->Close(2, 1, {5}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-3, 0));
}

TEST(JobShardCommandsTest, SnapshotStaysWhileTrainingGoesOn) {
  const auto shard = MakeShard(SmallConfig(2, "sgd:momentum=0.5"));
  ASSERT_TRUE(Push(*shard, PlainPush(1, 1, 10), 1).ok());
  ASSERT_TRUE(shard->Close(1, 3, {}, 1).ok());
  ASSERT_TRUE(shard->Snapshot(2, 42).ok());
  ASSERT_TRUE(Push(*shard, PlainPush(1, 2, 10), 1).ok());
  ASSERT_TRUE(Push(*shard, PlainPush(1, 2, 11), 1).ok());
  PullResult result;
  shard->PullSnapshot({.deadline = absl::InfiniteFuture()}, 42,
                      result.callback());
  ASSERT_TRUE(result.status().ok()) << result.status();
  EXPECT_THAT(Values(result.blocks()), ElementsAre(-1, 0));
  EXPECT_EQ(result.blocks().closing, 3);
  EXPECT_EQ(result.blocks().blocks[0].state->slot(0)[0], 1)
      << "the optimizer's state belongs to it";
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-2.5f, -1));
}

TEST(JobShardCommandsTest, SnapshotsAreBoundedAndTheirNumberIsUsedUp) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_snapshots = 1;
  const auto shard = MakeShard(config);
  PullResult waiting;
  shard->PullSnapshot({.deadline = absl::InfiniteFuture()}, 2,
                      waiting.callback());
  ASSERT_TRUE(shard->Snapshot(1, 1).ok());
  EXPECT_EQ(shard->Snapshot(2, 2).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(waiting.status().code(), StatusCode::kResourceExhausted)
      << "nobody waits for a snapshot that will not come";
  EXPECT_EQ(shard->last_sequence(), 2u);
  ASSERT_TRUE(shard->ReleaseSnapshot(3, 1).ok());
  EXPECT_TRUE(shard->Snapshot(4, 2).ok());
}

TEST(JobShardCommandsTest, SnapshotNeedsInitialValues) {
  const auto shard = *JobShard::Create(SmallConfig(1));
  EXPECT_EQ(shard->Snapshot(1, 1).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(shard->last_sequence(), 1u);
}

TEST(JobShardCommandsTest, TakingBlocksNeedsInitialValues) {
  const auto shard = *JobShard::Create(SmallConfig(1));
  EXPECT_EQ(shard->TakeBlocks(1).status().code(),
            StatusCode::kFailedPrecondition);
  ASSERT_TRUE(SetAll(*shard, 3).ok());
  EXPECT_EQ(shard->TakeBlocks(3).status().code(),
            StatusCode::kFailedPrecondition)
      << "command 2 is missing";
  EXPECT_TRUE(shard->TakeBlocks(2)->has_value());
  EXPECT_FALSE(shard->TakeBlocks(2)->has_value()) << "it was before";
  EXPECT_EQ(shard->last_sequence(), 2u);
}

// A checkpoint is the job's result: that nothing is left for snapshots of
// evaluations must not cost it.
TEST(JobShardCommandsTest, TakingBlocksFindsRoomWhereSnapshotsFindNone) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_snapshots = 0;
  const auto shard = MakeShard(config);
  EXPECT_EQ(shard->Snapshot(1, 1).code(), StatusCode::kResourceExhausted);
  const auto blocks = shard->TakeBlocks(2);
  ASSERT_TRUE(blocks.ok() && blocks->has_value());
  ASSERT_TRUE(Push(*shard, PlainPush(1, 1, 10), 1).ok());
  EXPECT_THAT(Values(**blocks), ElementsAre(0)) << "training goes on beside it";
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1));
}

TEST(JobShardCommandsTest, StopRefusesEverything) {
  const auto shard = MakeShard(SmallConfig(1));
  shard->Stop("the server is shutting down");
  const absl::Status want =
      absl::UnavailableError("the server is shutting down");
  EXPECT_EQ(Push(*shard, PlainPush(1, 1, 10), 1).status(), want);
  EXPECT_EQ(shard->Close(1, 1, {}, 1), want);
  EXPECT_EQ(shard->Fence(1, 1).status(), want);
  EXPECT_EQ(shard->Snapshot(1, 1), want);
  EXPECT_EQ(SetAll(*shard, 1), want);
  PullResult pull;
  shard->Pull({.deadline = absl::InfiniteFuture()}, 0, pull.callback());
  EXPECT_EQ(pull.status(), want);
}

}  // namespace
}  // namespace paceline
