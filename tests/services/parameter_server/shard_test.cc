#include "services/parameter_server/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "services/parameter_server/shard_config.h"
#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

constexpr uint64_t kRun = 7;
constexpr uint64_t kOther = 8;

TEST(ShardTest, HasNoJobUntilConfigured) {
  Shard shard;
  EXPECT_EQ(shard.Job(kRun).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(shard.Configure(kRun, SmallConfig(2)).ok());
  EXPECT_EQ((*shard.Job(kRun))->config().blocks, SmallConfig(2).blocks);
  EXPECT_EQ(shard.Job(kOther).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(shard.Configure(0, SmallConfig(2)).code(),
            StatusCode::kInvalidArgument);
}

TEST(ShardTest, ARunIsConfiguredOnce) {
  Shard shard;
  ASSERT_TRUE(shard.Configure(kRun, SmallConfig(2)).ok());
  const auto job = *shard.Job(kRun);
  EXPECT_EQ(shard.Configure(kRun, SmallConfig(2)).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(*shard.Job(kRun), job) << "the values it has must stay";
  EXPECT_TRUE(shard.Configure(kOther, SmallConfig(2, "adam")).ok());
}

TEST(ShardTest, RefusesAnUnsoundConfigAndStaysFree) {
  Shard shard;
  ShardConfig config = SmallConfig(2);
  config.batch_size = 0;
  EXPECT_EQ(shard.Configure(kRun, config).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(shard.state_bytes(), 0u);
  EXPECT_TRUE(shard.Configure(kRun, SmallConfig(2)).ok());
}

// Blocks, iterations, rounds, closings and snapshots of one job have the same
// names as those of the other, and mean nothing to it.
TEST(ShardTest, JobsSideBySideDoNotSeeEachOther) {
  Shard shard;
  ASSERT_TRUE(shard.Configure(kRun, SmallConfig(2)).ok());
  ASSERT_TRUE(shard.Configure(kOther, SmallConfig(2)).ok());
  const auto one = *shard.Job(kRun);
  const auto other = *shard.Job(kOther);
  ASSERT_TRUE(SetAll(*one, 0).ok());
  ASSERT_TRUE(SetAll(*other, 100).ok());
  ASSERT_TRUE(Push(*one, PlainPush(1, 1, 10), 1).ok());
  ASSERT_TRUE(Push(*one, RoundPush(2, 1, 11, /*round=*/5), 2).ok());
  ASSERT_TRUE(Push(*other, RoundPush(2, 1, 11, /*round=*/5), 8).ok());
  ASSERT_TRUE(one->Close(1, {5}, 1).ok());
  EXPECT_THAT(ValuesNow(*one), ElementsAre(-1, -2));
  EXPECT_THAT(ValuesNow(*other), ElementsAre(100, 100));
  ASSERT_TRUE(one->Fence(1).ok());
  EXPECT_TRUE(Push(*other, PlainPush(1, 1, 10), 1).ok())
      << "it was fenced in the other job";
  ASSERT_TRUE(one->Snapshot(1).ok());
  PullResult missing;
  other->PullSnapshot({.deadline = absl::InfiniteFuture()}, 1,
                      missing.callback());
  EXPECT_EQ(missing.calls(), 0);
  shard.Remove(kRun, "it has ended");
  EXPECT_EQ(missing.calls(), 0);
  ASSERT_TRUE(other->Close(1, {5}, 1).ok());
  EXPECT_THAT(ValuesNow(*other), ElementsAre(99, 92));
}

TEST(ShardTest, LimitsHoldForAllJobsTogether) {
  const uint64_t bytes = StateBytes(SmallConfig(2, "adam"));
  EXPECT_EQ(bytes, 2 * kTestBlockSize * 4 * 3);
  Shard shard({.max_jobs = 3, .max_state_bytes = 2 * bytes});
  ASSERT_TRUE(shard.Configure(1, SmallConfig(2, "adam")).ok());
  ASSERT_TRUE(shard.Configure(2, SmallConfig(2, "adam")).ok());
  EXPECT_EQ(shard.state_bytes(), 2 * bytes);
  EXPECT_EQ(shard.Configure(3, SmallConfig(1)).code(),
            StatusCode::kResourceExhausted);
  EXPECT_TRUE(shard.Configure(3, SmallConfig(0)).ok()) << "that takes nothing";
  EXPECT_EQ(shard.Configure(4, SmallConfig(0)).code(),
            StatusCode::kResourceExhausted)
      << "but there are three jobs now";
  shard.Remove(1, "it has ended");
  EXPECT_TRUE(shard.Configure(4, SmallConfig(1)).ok());
  EXPECT_EQ(shard.Jobs().size(), 3u);
}

TEST(ShardTest, WhatParadigmsNeedIsCountedToo) {
  const uint64_t bytes = StateBytes(SmallConfig(2));
  // Half as much again as two jobs' state.
  Shard shard({.max_state_bytes = 2 * bytes});
  const absl::Status refused =
      shard.Configure(1, SmallConfig(2), 2 * bytes + 1);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("the job's paradigm makes the server hold 81 bytes"));
  ASSERT_TRUE(shard.Configure(1, SmallConfig(2), 2 * bytes).ok());
  EXPECT_EQ(shard.Configure(2, SmallConfig(1)).code(),
            StatusCode::kResourceExhausted);
  shard.SetRuleBytes(1, bytes);
  ASSERT_TRUE(shard.Configure(2, SmallConfig(2), 0).ok());
  shard.Remove(1, "it has ended");
  EXPECT_TRUE(shard.Configure(3, SmallConfig(2), bytes).ok());
  EXPECT_EQ(shard.Configure(4, SmallConfig(0), 1).code(),
            StatusCode::kResourceExhausted);
  shard.SetRuleBytes(9, bytes);  // Which is not hosted.
}

// The server's limit is the only one: a flag above a job's default counts.
TEST(ShardTest, TheServersLimitIsThatOfAJobToo) {
  ShardConfig config = SmallConfig(2, "adam");
  const uint64_t bytes = StateBytes(config);
  config.limits.max_state_bytes = bytes - 1;
  Shard shard({.max_state_bytes = bytes});
  EXPECT_TRUE(shard.Configure(1, config).ok());
  Shard smaller({.max_state_bytes = bytes - 1});
  EXPECT_EQ(smaller.Configure(1, config).code(),
            StatusCode::kResourceExhausted);
}

TEST(ShardTest, SnapshotsOfAllJobsHaveOneLimit) {
  const uint64_t bytes = StateBytes(SmallConfig(1));
  Shard shard({.max_snapshot_bytes = bytes});
  for (const uint64_t run : {kRun, kOther}) {
    ASSERT_TRUE(shard.Configure(run, SmallConfig(1)).ok());
    ASSERT_TRUE(SetAll(**shard.Job(run), 0).ok());
  }
  ASSERT_TRUE((*shard.Job(kRun))->Snapshot(1).ok());
  EXPECT_EQ((*shard.Job(kOther))->Snapshot(1).code(),
            StatusCode::kResourceExhausted);
  shard.Remove(kRun, "it has ended");
  EXPECT_TRUE((*shard.Job(kOther))->Snapshot(2).ok());
}

TEST(ShardTest, DefaultLimitsAreThoseOfTheMemory) {
  const ServerLimits limits = ServerLimits::ForMemory(uint64_t{1} << 40);
  EXPECT_EQ(limits.max_state_bytes, uint64_t{1} << 39);
  EXPECT_EQ(limits.max_snapshot_bytes, uint64_t{1} << 38);
  EXPECT_EQ(ServerLimits::ForMemory(0).max_state_bytes,
            ServerLimits().max_state_bytes)
      << "not known";
}

TEST(ShardTest, RemoveStopsTheJobAndMakesRoom) {
  Shard shard;
  ASSERT_TRUE(shard.Configure(kRun, SmallConfig(1)).ok());
  ASSERT_TRUE(shard.Configure(kOther, SmallConfig(1)).ok());
  const auto job = *shard.Job(kRun);
  PullResult parked;
  job->Pull({.deadline = absl::InfiniteFuture()}, 0, parked.callback());
  shard.Remove(kRun, "the job has ended");
  shard.Remove(kRun, "once more");
  EXPECT_EQ(parked.status(), absl::UnavailableError("the job has ended"));
  EXPECT_EQ(SetAll(*job, 0).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(SetAll(**shard.Job(kOther), 0).ok());
  EXPECT_TRUE(shard.Configure(kRun, SmallConfig(3)).ok());
}

TEST(ShardTest, RemoveAllStopsEveryJobAndTakesNewOnes) {
  Shard shard;
  PullResult parked[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(shard.Configure(1 + i, SmallConfig(1)).ok());
    (*shard.Job(1 + i))
        ->Pull({.deadline = absl::InfiniteFuture()}, 0, parked[i].callback());
  }
  shard.RemoveAll("the coordinator is gone");
  for (const PullResult& pull : parked) {
    EXPECT_EQ(pull.status(), absl::UnavailableError("the coordinator is gone"));
  }
  EXPECT_EQ(shard.state_bytes(), 0u);
  EXPECT_TRUE(shard.Configure(1, SmallConfig(3)).ok());
}

TEST(ShardTest, StopIsForGood) {
  Shard shard;
  ASSERT_TRUE(shard.Configure(kRun, SmallConfig(1)).ok());
  const auto job = *shard.Job(kRun);
  shard.Stop("shutting down");
  EXPECT_EQ(shard.Job(kRun).status(), absl::UnavailableError("shutting down"));
  EXPECT_EQ(shard.Configure(kRun, SmallConfig(1)).code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(SetAll(*job, 1).code(), StatusCode::kUnavailable);
}

using testing::HasSubstr;

TEST(ShardConfigTest, AcceptsWhatIsSound) {
  EXPECT_TRUE(ValidateShardConfig(SmallConfig(3)).ok());
  EXPECT_TRUE(ValidateShardConfig(SmallConfig(0)).ok())
      << "a small model may leave a server without blocks";
  ShardConfig largest = SmallConfig(1, "adam");
  largest.blocks[0].size = kBlockElementsMax;
  EXPECT_TRUE(ValidateShardConfig(largest).ok());
}

TEST(ShardConfigTest, RefusesWhatAPeerMustNotName) {
  struct Case {
    std::function<void(ShardConfig&)> spoil;
    StatusCode code;
    const char* message;
  };
  const Case kCases[] = {
      {[](ShardConfig& c) { c.blocks[1].size = 0; },
       StatusCode::kInvalidArgument, "block 11 has 0 elements"},
      {[](ShardConfig& c) { c.blocks[1].size = kBlockElementsMax + 1; },
       StatusCode::kInvalidArgument, "a block has 1 to 262144"},
      {[](ShardConfig& c) { c.blocks[1].tensor.clear(); },
       StatusCode::kInvalidArgument, "names its tensor with 0 characters"},
      {[](ShardConfig& c) { c.blocks[1].tensor.assign(2000, 'x'); },
       StatusCode::kInvalidArgument, "with 2000 characters"},
      {[](ShardConfig& c) { c.blocks[1].offset = ~uint64_t{0}; },
       StatusCode::kInvalidArgument, "ends beyond"},
      {[](ShardConfig& c) { c.blocks[1].id = 10; },
       StatusCode::kInvalidArgument, "block 10 is given twice"},
      {[](ShardConfig& c) { c.blocks[2].offset = 9; },
       StatusCode::kInvalidArgument, "blocks 11 and 12 overlap in tensor w"},
      {[](ShardConfig& c) { c.batch_size = 0; }, StatusCode::kInvalidArgument,
       "the batch size is 0"},
      {[](ShardConfig& c) { c.optimizer.momentum = 2; },
       StatusCode::kInvalidArgument, "momentum is 2"},
      {[](ShardConfig& c) { c.limits.max_blocks = 2; },
       StatusCode::kResourceExhausted, "3 blocks; this server hosts 2"},
      {[](ShardConfig& c) { c.limits.max_state_bytes = 119; },
       StatusCode::kResourceExhausted, "take 120 bytes"},
  };
  for (const Case& c : kCases) {
    ShardConfig config = SmallConfig(3, "sgd:momentum=0.5");
    c.spoil(config);
    const absl::Status status = ValidateShardConfig(config);
    EXPECT_EQ(status.code(), c.code) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
    EXPECT_EQ(JobShard::Create(config).status(), status);
  }
}

}  // namespace

}  // namespace paceline
