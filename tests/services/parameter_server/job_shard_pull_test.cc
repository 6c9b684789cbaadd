#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/services/parameter_server/job_shard_testing.h"

// Pulls: served at once, parked, ended.

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
  ASSERT_TRUE(shard->Close(1, 5, {}, 1).ok());
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
  ASSERT_TRUE(shard->Close(1, 1, {5}, 1).ok());
  EXPECT_EQ(first.calls(), 1);
  EXPECT_THAT(Values(first.blocks()), ElementsAre(-1));
  EXPECT_EQ(second.calls(), 0);
  ASSERT_TRUE(shard->Close(2, 2, {}, 1).ok());
  EXPECT_EQ(second.calls(), 1);
  EXPECT_EQ(shard->Counters().parked_pulls, 0u);
}

TEST(JobShardPullTest, WaitsForInitialValues) {
  const auto shard = *JobShard::Create(SmallConfig(2));
  const PullResult pull = Pull(*shard, 0, Until(9));
  ASSERT_TRUE(shard->SetBlock(10, Uniform(1).payload(), DType::kF32).ok());
  ASSERT_TRUE(shard->SetBlock(10, Uniform(2).payload(), DType::kF32).ok());
  ASSERT_TRUE(shard->Close(1, 1, {}, 1).ok());
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
  ASSERT_TRUE(shard->Close(1, 1, {}, 1).ok());
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
  ASSERT_TRUE(shard->Close(1, 1, {}, 1).ok());
  EXPECT_EQ(six.calls(), 0) << "a closing is no snapshot";
  ASSERT_TRUE(shard->Snapshot(2, 6).ok());
  EXPECT_TRUE(six.status().ok());
  EXPECT_EQ(seven.calls(), 0);
}

// Who asks for one that was refused or released would otherwise ask for ever.
TEST(JobShardPullTest, ASnapshotThatWillNotComeIsNotWaitedFor) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_snapshots = 1;
  const auto shard = MakeShard(config);
  ASSERT_TRUE(shard->Snapshot(1, 5).ok());
  EXPECT_EQ(shard->Snapshot(2, 6).code(), StatusCode::kResourceExhausted);
  ASSERT_TRUE(shard->ReleaseSnapshot(3, 5).ok());
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
  ASSERT_TRUE(shard->Fence(1, 1).ok());
  EXPECT_EQ(fenced.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(other.calls(), 0);
  EXPECT_EQ(Pull(*shard, 0, Until(9, 1)).status().code(), StatusCode::kAborted);
}

TEST(JobShardPullTest, CancelDropsTheCallbacksOfOneStream) {
  const auto shard = MakeShard(SmallConfig(1));
  const PullResult gone = Pull(*shard, 1, Until(9, 1, /*owner=*/1));
  const PullResult stays = Pull(*shard, 1, Until(9, 1, /*owner=*/2));
  shard->CancelPulls(1);
  ASSERT_TRUE(shard->Close(1, 1, {}, 1).ok());
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

// A callback may call back in, because none runs under a lock.
TEST(JobShardPullTest, CallbackMayUseTheShard) {
  const auto shard = MakeShard(SmallConfig(1));
  std::vector<uint64_t> sequences;
  shard->Pull(Until(9), 1, [&](absl::StatusOr<PulledBlocks> result) {
    ASSERT_TRUE(result.ok());
    sequences.push_back(shard->last_sequence());
    ASSERT_TRUE(Push(*shard, PlainPush(1, 1, 10), 1).ok());
    shard->Pull(Until(9), 2, [&](absl::StatusOr<PulledBlocks>) {
      sequences.push_back(shard->last_sequence());
      EXPECT_EQ(shard->Counters().parked_pulls, 0u);
    });
    ASSERT_TRUE(shard->Close(2, 2, {}, 1).ok());
  });
  ASSERT_TRUE(shard->Close(1, 1, {}, 1).ok());
  EXPECT_THAT(sequences, ElementsAre(1, 2));
}

}  // namespace
}  // namespace paceline
