#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "services/parameter_server/job_shard.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// Pulls: served at once, parked, ended.
// The coordinator's commands: rounds, fences, snapshots.

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

absl::Time At(int seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

PullResult Pull(JobShard& shard, int64_t closing, const Puller& puller) {
  PullResult result;
  shard.Pull(puller, closing, result.callback());
  return result;
}

Puller Until(int seconds, uint64_t incarnation = 1, uint64_t owner = 1) {
  return {.owner = owner, .incarnation = incarnation, .deadline = At(seconds)};
}

TEST(JobShardPullTest, IsServedAtOnceWhenTheClosingWasApplied) {
  const auto shard = MakeShard(SmallConfig(2));
  ASSERT_TRUE(shard->Close(5, {}, 1).ok());
  for (const int64_t closing : {0, 4, 5}) {
    const PullResult result = Pull(*shard, closing, Until(9));
    ASSERT_EQ(result.calls(), 1);
    EXPECT_EQ(result.blocks().closing, 5);
    ASSERT_EQ(result.blocks().blocks.size(), 2u);
    EXPECT_EQ(result.blocks().blocks[1].id, 11u);
  }
}

TEST(JobShardPullTest, WaitsForItsClosing) {
  const auto shard = MakeShard(SmallConfig(1));
  const PullResult second = Pull(*shard, 2, Until(9));
  const PullResult first = Pull(*shard, 1, Until(9));
  EXPECT_EQ(shard->Counters().parked_pulls, 2u);
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 1).ok());
  ASSERT_TRUE(shard->Close(1, {5}, 1).ok());
  EXPECT_EQ(first.calls(), 1);
  EXPECT_THAT(Values(first.blocks()), ElementsAre(-1));
  EXPECT_EQ(second.calls(), 0);
  ASSERT_TRUE(shard->Close(2, {}, 1).ok());
  EXPECT_EQ(second.calls(), 1);
  EXPECT_EQ(shard->Counters().parked_pulls, 0u);
}

TEST(JobShardPullTest, WaitsForInitialValues) {
  const auto shard = *JobShard::Create(SmallConfig(2));
  const PullResult pull = Pull(*shard, 0, Until(9));
  ASSERT_TRUE(shard->SetBlock(10, Uniform(1).payload(), DType::kF32).ok());
  ASSERT_TRUE(shard->SetBlock(10, Uniform(2).payload(), DType::kF32).ok());
  ASSERT_TRUE(shard->Close(1, {}, 1).ok());
  EXPECT_EQ(pull.calls(), 0) << "one block, twice, and a closing";
  ASSERT_TRUE(shard->SetBlock(11, Uniform(3).payload(), DType::kF32).ok());
  ASSERT_EQ(pull.calls(), 1);
  EXPECT_THAT(Values(pull.blocks()), ElementsAre(2, 3));
}

TEST(JobShardPullTest, ServerWithoutBlocksAnswersAtOnce) {
  const auto shard = *JobShard::Create(SmallConfig(0));
  EXPECT_TRUE(Pull(*shard, 0, Until(9)).blocks().blocks.empty());
}

TEST(JobShardPullTest, EndsAtItsDeadlineWithAReason) {
  const auto shard = MakeShard(SmallConfig(1));
  const PullResult late = Pull(*shard, 1, Until(20));
  const PullResult soon = Pull(*shard, 7, Until(10));
  shard->ExpirePulls(At(9));
  EXPECT_EQ(soon.calls(), 0);
  shard->ExpirePulls(At(10));
  EXPECT_EQ(soon.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(soon.status().message()),
              HasSubstr("closing 7 has not been applied yet, only closing 0"));
  EXPECT_EQ(late.calls(), 0);
  ASSERT_TRUE(shard->Close(1, {}, 1).ok());
  EXPECT_TRUE(late.status().ok());
}

TEST(JobShardPullTest, ReasonsNameWhatIsMissing) {
  const auto empty = *JobShard::Create(SmallConfig(1));
  const PullResult pull = Pull(*empty, 0, Until(1));
  PullResult snapshot;
  empty->PullSnapshot(Until(1), 6, snapshot.callback());
  empty->ExpirePulls(At(1));
  EXPECT_THAT(std::string(pull.status().message()),
              HasSubstr("initial values"));
  EXPECT_THAT(std::string(snapshot.status().message()),
              HasSubstr("snapshot 6 has not been taken yet"));
}

TEST(JobShardPullTest, SnapshotPullWaitsUntilItExists) {
  const auto shard = MakeShard(SmallConfig(1));
  PullResult six, seven;
  shard->PullSnapshot(Until(9), 6, six.callback());
  shard->PullSnapshot(Until(9), 7, seven.callback());
  ASSERT_TRUE(shard->Close(1, {}, 1).ok());
  EXPECT_EQ(six.calls(), 0) << "a closing is no snapshot";
  ASSERT_TRUE(shard->Snapshot(6).ok());
  EXPECT_TRUE(six.status().ok());
  EXPECT_EQ(seven.calls(), 0);
}

// Who asks for one that was refused or released would otherwise ask for ever.
TEST(JobShardPullTest, ASnapshotThatWillNotComeIsNotWaitedFor) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_snapshots = 1;
  const auto shard = MakeShard(config);
  ASSERT_TRUE(shard->Snapshot(5).ok());
  EXPECT_EQ(shard->Snapshot(6).code(), StatusCode::kResourceExhausted);
  shard->ReleaseSnapshot(5);
  for (const uint64_t gone : {5, 6}) {
    PullResult pull;
    shard->PullSnapshot(Until(9), gone, pull.callback());
    EXPECT_EQ(pull.status().code(), StatusCode::kNotFound);
  }
  PullResult next;
  shard->PullSnapshot(Until(9), 7, next.callback());
  EXPECT_EQ(next.calls(), 0) << "it may come";
}

TEST(JobShardPullTest, FenceEndsThePullsOfItsIncarnation) {
  const auto shard = MakeShard(SmallConfig(1));
  const PullResult fenced = Pull(*shard, 1, Until(9, /*incarnation=*/1));
  const PullResult other = Pull(*shard, 1, Until(9, /*incarnation=*/2));
  ASSERT_TRUE(shard->Fence(1).ok());
  EXPECT_EQ(fenced.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(other.calls(), 0);
  EXPECT_EQ(Pull(*shard, 0, Until(9, 1)).status().code(), StatusCode::kAborted);
}

TEST(JobShardPullTest, CancelDropsTheCallbacksOfOneStream) {
  const auto shard = MakeShard(SmallConfig(1));
  const PullResult gone = Pull(*shard, 1, Until(9, 1, /*owner=*/1));
  const PullResult stays = Pull(*shard, 1, Until(9, 1, /*owner=*/2));
  shard->CancelPulls(1);
  ASSERT_TRUE(shard->Close(1, {}, 1).ok());
  EXPECT_EQ(gone.calls(), 0);
  EXPECT_EQ(stays.calls(), 1);
}

TEST(JobShardPullTest, BoundsHowManyWait) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_parked_pulls = 2;
  const auto shard = MakeShard(config);
  const PullResult a = Pull(*shard, 1, Until(9));
  const PullResult b = Pull(*shard, 1, Until(9));
  EXPECT_EQ(Pull(*shard, 1, Until(9)).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_TRUE(Pull(*shard, 0, Until(9)).status().ok())
      << "what need not wait is served";
  shard->CancelPulls(1);
  EXPECT_EQ(Pull(*shard, 1, Until(9)).calls(), 0);
}

// So that they are on their way while the closing goes on.
TEST(JobShardPullTest, IsToldOfBlocksWhileItsClosingGoesOn) {
  ShardConfig config = SmallConfig(3);
  config.blocks[1].kind = TensorKind::kFrozen;
  const auto shard = MakeShard(config);
  std::vector<PulledBlock> told;
  PullResult all;
  size_t told_before = 0;
  shard->Pull(
      Until(9), 1,
      [&](absl::StatusOr<PulledBlocks> result) {
        told_before = told.size();
        all.callback()(std::move(result));
      },
      [&](const PulledBlock& block) { told.push_back(block); });
  const PullResult wants_no_word = Pull(*shard, 1, Until(9));
  int too_early = 0;
  PullResult later;
  shard->Pull(Until(9), 2, later.callback(),
              [&](const PulledBlock&) { ++too_early; });
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 12, 5), 2).ok());
  ASSERT_TRUE(shard->Close(1, {5}, 1).ok());
  ASSERT_EQ(told.size(), 2u) << "not of what never changes";
  EXPECT_EQ(told_before, 2u);
  EXPECT_EQ(told[0].id, 10u);
  EXPECT_EQ(told[1].id, 12u);
  ASSERT_EQ(all.calls(), 1);
  ASSERT_EQ(all.blocks().blocks.size(), 3u);
  EXPECT_EQ(told[0].state, all.blocks().blocks[0].state);
  EXPECT_EQ(told[1].state, all.blocks().blocks[2].state);
  EXPECT_EQ(wants_no_word.calls(), 1);
  EXPECT_EQ(too_early, 0);
  shard->CancelPulls(1);
  ASSERT_TRUE(shard->Close(2, {}, 1).ok());
  EXPECT_EQ(too_early, 0) << "it was cancelled";
}

TEST(JobShardPullTest, IsToldOfNothingBeforeAllBlocksHaveValues) {
  const auto shard = JobShard::Create(SmallConfig(2));
  ASSERT_TRUE(shard.ok()) << shard.status();
  int told = 0;
  PullResult result;
  (*shard)->Pull(Until(9), 1, result.callback(),
                 [&](const PulledBlock&) { ++told; });
  ASSERT_TRUE((*shard)->Close(1, {}, 1).ok());
  EXPECT_EQ(told, 0);
  EXPECT_EQ(result.calls(), 0);
}

// A callback may call back in, because none runs under a lock.
TEST(JobShardPullTest, CallbackMayUseTheShard) {
  const auto shard = MakeShard(SmallConfig(1));
  std::vector<int64_t> closings;
  shard->Pull(Until(9), 1, [&](absl::StatusOr<PulledBlocks> result) {
    ASSERT_TRUE(result.ok());
    closings.push_back(result->closing);
    ASSERT_TRUE(Push(*shard, PlainPush(1, 1, 10), 1).ok());
    shard->Pull(Until(9), 2, [&](absl::StatusOr<PulledBlocks> next) {
      closings.push_back(next->closing);
      EXPECT_EQ(shard->Counters().parked_pulls, 0u);
    });
    ASSERT_TRUE(shard->Close(2, {}, 1).ok());
  });
  ASSERT_TRUE(shard->Close(1, {}, 1).ok());
  EXPECT_THAT(closings, ElementsAre(1, 2));
}

TEST(JobShardCommandsTest, RoundIsItsGradientsBySamplesAtLinearStrength) {
  const auto shard = MakeShard(SmallConfig(1));
  PushBlock push = RoundPush(1, 1, 10, 5);
  push.samples = 12;
  push.weight = 0.5f;
  ASSERT_TRUE(Push(*shard, push, 4).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(2, 1, 10, 5), 10).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(0))
      << "nothing before the closing";
  ASSERT_TRUE(shard->Close(1, {5}, 0.5).ok());
  // (12 * 0.5 * 4 + 4 * 10) / 16 = 4 at strength 16 / 4 and rate 0.5.
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-8));
  EXPECT_EQ(PullNow(*shard).closing, 1);
}

TEST(JobShardCommandsTest, StrengthOfARoundFollowsF) {
  for (const auto& [f, want] : {std::pair{RoundStrength::kLinear, -40.0f},
                                {RoundStrength::kSqrt, -20.0f},
                                {RoundStrength::kConstant, -10.0f},
                                {RoundStrength::kAdaScale, -10.0f}}) {
    ShardConfig config = SmallConfig(1);
    config.round_strength = f;
    const auto shard = MakeShard(config);
    for (uint64_t worker = 1; worker <= 4; ++worker) {
      ASSERT_TRUE(Push(*shard, RoundPush(worker, 1, 10, 5), 10).ok());
    }
    ASSERT_TRUE(shard->Close(1, {5}, 1).ok());
    EXPECT_THAT(ValuesNow(*shard), ElementsAre(want));
  }
}

TEST(JobShardCommandsTest, SeveralRoundsCloseAsOneUpdate) {
  const auto shard = MakeShard(SmallConfig(1, "sgd:momentum=0.5"));
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(2, 1, 10, 6), 2).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(3, 1, 10, 7), 4).ok());
  ASSERT_TRUE(shard->Close(1, {5, 7}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-5));
  EXPECT_EQ(PullNow(*shard).blocks[0].state->steps(), 1u) << "one update";
  EXPECT_EQ(shard->Counters().open_rounds, 1u);
  ASSERT_TRUE(shard->Close(2, {6}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-5 - (2.5f + 2)));
}

// The closing comes between two blocks of one push: block 11 gathers under the
// same round again and is applied, once, by the next closing that names it.
TEST(JobShardCommandsTest, PushSplitByAClosingIsAppliedOncePerBlock) {
  const auto shard = MakeShard(SmallConfig(2));
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 3).ok());
  ASSERT_TRUE(shard->Close(1, {5}, 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 11, 5), 3).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-3, 0));
  ASSERT_TRUE(shard->Close(2, {5}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-3, -3));
  for (const PulledBlock& block : PullNow(*shard).blocks) {
    EXPECT_EQ(block.state->steps(), 1u) << "no update of a block with none";
  }
}

TEST(JobShardCommandsTest, UnsoundClosingIsNotApplied) {
  const auto shard = MakeShard(SmallConfig(1));
  ASSERT_TRUE(shard->Close(4, {}, 1).ok());
  EXPECT_EQ(shard->Close(4, {}, 1).status().code(),
            StatusCode::kInvalidArgument);
  for (const double rate : {-1.0, 1e9, 0.0 / 0.0}) {
    EXPECT_EQ(shard->Close(5, {}, rate).status().code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(shard->Close(5, {}, 0).ok());
}

TEST(JobShardCommandsTest, FenceAnswersWhatWasTakenAndRefusesTheRest) {
  const auto shard = MakeShard(SmallConfig(3));
  for (const uint32_t block : {10, 11, 12}) {
    ASSERT_TRUE(Push(*shard, PlainPush(1, 6, block), 1).ok());
  }
  ASSERT_TRUE(Push(*shard, PlainPush(1, 7, 11), 1).ok());
  const FencedPush want{
      .iteration = 7, .blocks_taken = 1, .blocks = 3, .samples = 4};
  EXPECT_EQ(*shard->Fence(1), want);
  for (const int64_t iteration : {7, 8}) {
    EXPECT_EQ(Push(*shard, PlainPush(1, iteration, 12), 1).status().code(),
              StatusCode::kAborted);
  }
  EXPECT_EQ(*shard->Fence(1), want) << "once more";
  EXPECT_TRUE(Push(*shard, PlainPush(2, 1, 12), 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1, -2, -2));
}

TEST(JobShardCommandsTest, WhatAFencedWorkerHadGatheredIsStillClosed) {
  const auto shard = MakeShard(SmallConfig(2));
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 3).ok());
  ASSERT_TRUE(shard->Fence(1).ok());
  ASSERT_TRUE(shard->Close(1, {5}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-3, 0));
}

TEST(JobShardCommandsTest, SnapshotStaysWhileTrainingGoesOn) {
  const auto shard = MakeShard(SmallConfig(2, "sgd:momentum=0.5"));
  ASSERT_TRUE(Push(*shard, PlainPush(1, 1, 10), 1).ok());
  ASSERT_TRUE(shard->Close(3, {}, 1).ok());
  ASSERT_TRUE(shard->Snapshot(42).ok());
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

TEST(JobShardCommandsTest, SnapshotsAreBounded) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_snapshots = 1;
  const auto shard = MakeShard(config);
  PullResult waiting;
  shard->PullSnapshot({.deadline = absl::InfiniteFuture()}, 2,
                      waiting.callback());
  ASSERT_TRUE(shard->Snapshot(1).ok());
  EXPECT_EQ(shard->Snapshot(2).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(waiting.status().code(), StatusCode::kResourceExhausted)
      << "nobody waits for a snapshot that will not come";
  shard->ReleaseSnapshot(1);
  EXPECT_TRUE(shard->Snapshot(2).ok());
}

TEST(JobShardCommandsTest, SnapshotsAndTakenBlocksNeedInitialValues) {
  const auto shard = *JobShard::Create(SmallConfig(1));
  EXPECT_EQ(shard->Snapshot(1).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(shard->TakeBlocks().status().code(),
            StatusCode::kFailedPrecondition);
  ASSERT_TRUE(SetAll(*shard, 3).ok());
  EXPECT_TRUE(shard->Snapshot(2).ok());
  EXPECT_TRUE(shard->TakeBlocks().ok());
}

// A checkpoint is the job's result: that nothing is left for snapshots of
// evaluations must not cost it.
TEST(JobShardCommandsTest, TakingBlocksFindsRoomWhereSnapshotsFindNone) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_snapshots = 0;
  const auto shard = MakeShard(config);
  EXPECT_EQ(shard->Snapshot(1).code(), StatusCode::kResourceExhausted);
  const auto blocks = shard->TakeBlocks();
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  ASSERT_TRUE(Push(*shard, PlainPush(1, 1, 10), 1).ok());
  EXPECT_THAT(Values(*blocks), ElementsAre(0)) << "training goes on beside it";
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1));
}

TEST(JobShardCommandsTest, StopRefusesEverything) {
  const auto shard = MakeShard(SmallConfig(1));
  shard->Stop("the server is shutting down");
  const absl::Status want =
      absl::UnavailableError("the server is shutting down");
  EXPECT_EQ(Push(*shard, PlainPush(1, 1, 10), 1).status(), want);
  EXPECT_EQ(shard->Close(1, {}, 1).status(), want);
  EXPECT_EQ(shard->Fence(1).status(), want);
  EXPECT_EQ(shard->Snapshot(1), want);
  EXPECT_EQ(SetAll(*shard, 1), want);
  PullResult pull;
  shard->Pull({.deadline = absl::InfiniteFuture()}, 0, pull.callback());
  EXPECT_EQ(pull.status(), want);
}

// Pushes that are compensated for the delay since their worker's pull
// (algorithms.md 5.8).

using testing::FloatNear;

PushBlock CompensatedPush(uint64_t incarnation, float lambda, double rate) {
  PushBlock push = PlainPush(incarnation, 1, 10);
  push.rate = rate;
  push.compensation.lambda = lambda;
  return push;
}

void PullAndKeep(JobShard& shard, uint64_t incarnation) {
  PullResult result;
  shard.PullAndKeep(
      {.incarnation = incarnation, .deadline = absl::InfiniteFuture()}, 0,
      result.callback());
  ASSERT_TRUE(result.status().ok()) << result.status();
}

// w = 1.0, w_bak = 0.8, g = 0.5, lambda = 0.04, rate = 0.1: g' = 0.502.
TEST(JobShardCompensationTest, GivesThePublishedVector) {
  const auto shard = MakeShard(SmallConfig(1));
  ASSERT_TRUE(Push(*shard, PlainPush(2, 1, 10), -0.8f).ok());
  PullAndKeep(*shard, 1);
  ASSERT_TRUE(Push(*shard, PlainPush(2, 2, 10), -0.2f).ok());
  ASSERT_TRUE(Push(*shard, CompensatedPush(1, 0.04f, 0.1), 0.5f).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(FloatNear(0.9498f, 1e-6f)));
}

TEST(JobShardCompensationTest, ChangesNothingWithoutDelayOrWithoutAKeptPull) {
  const auto shard = MakeShard(SmallConfig(1));
  ASSERT_TRUE(Push(*shard, CompensatedPush(3, 0.5f, 1), 0.5f).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-0.5f));
  PullAndKeep(*shard, 1);
  ASSERT_TRUE(Push(*shard, CompensatedPush(1, 0.5f, 1), 0.5f).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1.0f));
}

TEST(JobShardCompensationTest, RoundsGatherCompensatedGradients) {
  const auto shard = MakeShard(SmallConfig(1));
  PullAndKeep(*shard, 1);
  ASSERT_TRUE(Push(*shard, PlainPush(2, 1, 10), -2).ok());  // The weight is 2.
  PushBlock push = RoundPush(1, 1, 10, 7);
  push.compensation.lambda = 0.5f;
  ASSERT_TRUE(Push(*shard, push, 1).ok());  // 1 + 0.5 * 1 * 1 * (2 - 0) = 2.
  ASSERT_TRUE(shard->Close(1, {7}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(0.0f));
}

TEST(JobShardCompensationTest, RefusesWhatItMakesInfinite) {
  const auto shard = MakeShard(SmallConfig(1));
  PullAndKeep(*shard, 1);
  ASSERT_TRUE(Push(*shard, PlainPush(2, 1, 10), -2).ok());
  const auto outcome = Push(*shard, CompensatedPush(1, 1, 1),
                            std::numeric_limits<float>::max() / 4);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->refused, ElementsAre(10u));
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(2.0f));
}

TEST(JobShardCompensationTest, AnAbsurdLambdaIsAnError) {
  const auto shard = MakeShard(SmallConfig(1));
  for (const float lambda : {-1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(Push(*shard, CompensatedPush(1, lambda, 1), 1).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(JobShardCompensationTest, AnImpossibleMemoryIsAnError) {
  const auto shard = MakeShard(SmallConfig(1));
  for (const float memory :
       {-0.1f, 1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    PushBlock push = CompensatedPush(1, 2, 1);
    push.compensation.memory = memory;
    EXPECT_EQ(Push(*shard, push, 1).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// One worker that is always one update late, with DC-ASGD-a, against the loop
// of the paper.
TEST(JobShardCompensationTest, TheAdaptiveOneIsAPlainLoop) {
  constexpr float kLambda = 2;
  constexpr float kMemory = 0.95f;
  const auto shard = MakeShard(SmallConfig(1));
  double weight = 0;
  double mean = -1;  // None yet.
  for (int64_t iteration = 1; iteration <= 50; ++iteration) {
    PullAndKeep(*shard, 1);
    const double pulled = weight;
    ASSERT_TRUE(Push(*shard, PlainPush(2, iteration, 10), 0.01f).ok());
    weight -= 0.01;
    PushBlock push = CompensatedPush(1, kLambda, 0.1);
    push.iteration = iteration;
    push.compensation.memory = kMemory;
    const float g = 0.3f + 0.01f * static_cast<float>(iteration % 7);
    ASSERT_TRUE(Push(*shard, push, g).ok());
    mean = mean < 0 ? g * g : kMemory * mean + (1 - kMemory) * g * g;
    const double lambda = kLambda / std::sqrt(mean + 1e-7);
    weight -= 0.1 * (g + lambda * g * g * (weight - pulled));
    ASSERT_THAT(ValuesNow(*shard),
                ElementsAre(FloatNear(static_cast<float>(weight), 1e-5f)))
        << "iteration " << iteration;
  }
}

// A gradient whose weights are not known counts for the mean alone.
TEST(JobShardCompensationTest, TheMeanIsThatOfAllCompensatedPushes) {
  const auto shard = MakeShard(SmallConfig(1));
  PushBlock unknown = CompensatedPush(3, 1, 1);
  unknown.compensation.memory = 0.5f;
  ASSERT_TRUE(Push(*shard, unknown, 3).ok());  // Mean 9, weight -3.
  PullAndKeep(*shard, 1);
  ASSERT_TRUE(Push(*shard, PlainPush(2, 1, 10), -1).ok());  // Weight -2.
  PushBlock push = CompensatedPush(1, 1, 1);
  push.compensation.memory = 0.5f;
  // Mean (9 + 1) / 2 = 5: 1 + 1 / sqrt(5) * 1 * (-2 + 3).
  ASSERT_TRUE(Push(*shard, push, 1).ok());
  EXPECT_THAT(ValuesNow(*shard),
              ElementsAre(FloatNear(-3 - 1 / std::sqrt(5.0f), 1e-5f)));
}

// A square that no float holds makes this push infinite, not the mean.
TEST(JobShardCompensationTest, AHugeGradientIsForgotten) {
  const auto shard = MakeShard(SmallConfig(1));
  PullAndKeep(*shard, 1);
  ASSERT_TRUE(Push(*shard, PlainPush(2, 1, 10), -2).ok());
  PushBlock push = CompensatedPush(1, 1, 1);
  push.compensation.memory = 0.0f;
  const auto huge = Push(*shard, push, std::numeric_limits<float>::max() / 4);
  ASSERT_TRUE(huge.ok()) << huge.status();
  EXPECT_THAT(huge->refused, ElementsAre(10u));
  push.iteration = 2;
  ASSERT_TRUE(Push(*shard, push, 1).ok());  // 1 + 1 / sqrt(1) * 1 * (2 - 0).
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(FloatNear(-1, 1e-5f)));
}

// What is kept costs memory only until the next pull or the fence.
TEST(JobShardCompensationTest, AFenceLetsTheKeptBlocksGo) {
  const auto shard = MakeShard(SmallConfig(1));
  PullAndKeep(*shard, 1);
  ASSERT_TRUE(shard->Fence(1).ok());
  EXPECT_EQ(Push(*shard, CompensatedPush(1, 0.5f, 1), 1).status().code(),
            absl::StatusCode::kAborted);
}

}  // namespace

}  // namespace paceline
