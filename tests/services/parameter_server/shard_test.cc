#include "services/parameter_server/shard.h"

#include <gtest/gtest.h>

#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {
namespace {

using absl::StatusCode;

TEST(ShardTest, HasNoJobUntilConfigured) {
  Shard shard;
  EXPECT_EQ(shard.Job().status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(shard.Configure(SmallConfig(2)).ok());
  EXPECT_EQ((*shard.Job())->config(), SmallConfig(2));
}

TEST(ShardTest, ConfigureMayBeRepeatedButNotChanged) {
  Shard shard;
  ASSERT_TRUE(shard.Configure(SmallConfig(2)).ok());
  const auto job = *shard.Job();
  EXPECT_TRUE(shard.Configure(SmallConfig(2)).ok());
  EXPECT_EQ(*shard.Job(), job) << "the values it has must stay";
  EXPECT_EQ(shard.Configure(SmallConfig(3)).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(shard.Configure(SmallConfig(2, "adam")).code(),
            StatusCode::kFailedPrecondition);
}

TEST(ShardTest, RefusesAnUnsoundConfigAndStaysFree) {
  Shard shard;
  ShardConfig config = SmallConfig(2);
  config.batch_size = 0;
  EXPECT_EQ(shard.Configure(config).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(shard.Configure(SmallConfig(2)).ok());
}

TEST(ShardTest, RemoveStopsTheJobAndMakesRoom) {
  Shard shard;
  ASSERT_TRUE(shard.Configure(SmallConfig(1)).ok());
  const auto job = *shard.Job();
  PullResult parked;
  job->Pull({.deadline = absl::InfiniteFuture()}, 0, parked.callback());
  shard.Remove("the job has ended");
  EXPECT_EQ(parked.status(), absl::UnavailableError("the job has ended"));
  EXPECT_EQ(SetAll(*job, 0).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(shard.Configure(SmallConfig(3)).ok());
}

TEST(ShardTest, StopIsForGood) {
  Shard shard;
  ASSERT_TRUE(shard.Configure(SmallConfig(1)).ok());
  shard.Stop("shutting down");
  EXPECT_EQ(shard.Job().status(), absl::UnavailableError("shutting down"));
  EXPECT_EQ(shard.Configure(SmallConfig(1)).code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace paceline
