// Pushes that are compensated for the delay since their worker's pull
// (algorithms.md 5.8).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "services/parameter_server/job_shard.h"
#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

PushBlock CompensatedPush(uint64_t incarnation, float lambda, double rate) {
  PushBlock push = PlainPush(incarnation, 1, 10);
  push.rate = rate;
  push.compensation = lambda;
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
  push.compensation = 0.5f;
  ASSERT_TRUE(Push(*shard, push, 1).ok());  // 1 + 0.5 * 1 * 1 * (2 - 0) = 2.
  ASSERT_TRUE(shard->Close(1, 1, {7}, 1).ok());
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

// What is kept costs memory only until the next pull or the fence.
TEST(JobShardCompensationTest, AFenceLetsTheKeptBlocksGo) {
  const auto shard = MakeShard(SmallConfig(1));
  PullAndKeep(*shard, 1);
  ASSERT_TRUE(shard->Fence(1, 1).ok());
  EXPECT_EQ(Push(*shard, CompensatedPush(1, 0.5f, 1), 1).status().code(),
            absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace paceline
