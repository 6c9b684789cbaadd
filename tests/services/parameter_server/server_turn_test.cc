#include "services/parameter_server/server_turn.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {
namespace {

TEST(ServerTurnTest, EndsWaitsAndCountsOverAllJobs) {
  prometheus::Registry registry;
  ServerMetrics metrics(registry);
  Shard shard;
  const absl::Time now = absl::UnixEpoch();
  PullResult late;
  PullResult early;
  ASSERT_TRUE(shard.Configure(1, SmallConfig(2)).ok());
  ASSERT_TRUE(shard.Configure(2, SmallConfig(1)).ok());
  (*shard.Job(1))->Pull({.deadline = now}, 0, late.callback());
  (*shard.Job(2))
      ->Pull({.deadline = now + absl::Seconds(1)}, 0, early.callback());
  TakeServerTurn(shard, now, metrics);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(early.calls(), 0);
  EXPECT_EQ(metrics.parked_pulls.Value(), 1);
  EXPECT_EQ(metrics.jobs.Value(), 2);
  EXPECT_EQ(metrics.parameter_bytes.Value(), 3 * kTestBlockSize * 4);
  ASSERT_TRUE(SetAll(**shard.Job(2), 0).ok());
  ASSERT_TRUE((*shard.Job(2))->Snapshot(1, 1).ok());
  ASSERT_TRUE(Push(**shard.Job(2), RoundPush(1, 1, 10, 5), 1).ok());
  TakeServerTurn(shard, now, metrics);
  EXPECT_EQ(metrics.parked_pulls.Value(), 0);
  EXPECT_EQ(metrics.snapshots.Value(), 1);
  EXPECT_EQ(metrics.open_rounds.Value(), 1);
  shard.RemoveAll("done");
  TakeServerTurn(shard, now, metrics);
  EXPECT_EQ(metrics.jobs.Value(), 0);
  EXPECT_EQ(metrics.parameter_bytes.Value(), 0);
}

}  // namespace
}  // namespace paceline
