#include "services/coordinator/run/course/server_commands.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

class ServerCommandsTest : public ::testing::Test {
 protected:
  absl::Time now_ = absl::UnixEpoch();
  ServerCommands commands_{/*servers=*/2, now_};
};

TEST_F(ServerCommandsTest, ACommandIsDoneWhenAllHaveDoneIt) {
  EXPECT_EQ(commands_.last(), 0u);
  const uint64_t first = commands_.Next(now_);
  const uint64_t second = commands_.Next(now_);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 2u);
  EXPECT_EQ(commands_.last(), 2u);
  commands_.Done(now_, 0, second);
  EXPECT_FALSE(commands_.AllDone(first));
  commands_.Done(now_, 1, first);
  EXPECT_TRUE(commands_.AllDone(first));
  EXPECT_FALSE(commands_.AllDone(second));
  commands_.Done(now_, 0, first);  // An older answer takes nothing back.
  commands_.Done(now_, 1, second);
  EXPECT_TRUE(commands_.AllDone(second));
}

TEST_F(ServerCommandsTest, RemembersFencesAndSnapshotsUntilAllHaveAnswered) {
  const uint64_t fence = commands_.NextFence(now_, WorkerId{7});
  const uint64_t snapshot = commands_.NextSnapshot(now_, 3);
  EXPECT_EQ(commands_.FenceOf(fence), WorkerId{7});
  EXPECT_EQ(commands_.FenceOf(snapshot), std::nullopt);
  EXPECT_EQ(commands_.SnapshotOf(snapshot), 3);
  commands_.Done(now_, 0, snapshot);
  commands_.Prune();
  EXPECT_EQ(commands_.FenceOf(fence), WorkerId{7}) << "one has not answered";
  commands_.Done(now_, 1, fence);
  EXPECT_EQ(commands_.FenceOf(fence), WorkerId{7}) << "in the same call";
  commands_.Prune();
  EXPECT_EQ(commands_.FenceOf(fence), std::nullopt);
  EXPECT_EQ(commands_.SnapshotOf(snapshot), 3);
  commands_.Done(now_, 1, snapshot);
  commands_.Prune();
  EXPECT_EQ(commands_.SnapshotOf(snapshot), std::nullopt);
}

TEST_F(ServerCommandsTest, OneThatCarriesOutNothingIsStuck) {
  const absl::Duration limit = absl::Seconds(10);
  now_ += absl::Minutes(5);
  EXPECT_EQ(commands_.Stuck(now_, limit), std::nullopt)
      << "nothing was asked of them";
  commands_.Next(now_);
  commands_.Done(now_, 0, 1);
  now_ += limit;
  EXPECT_EQ(commands_.Stuck(now_, limit), std::nullopt);
  commands_.Next(now_);  // Nothing new for the one that hangs.
  now_ += absl::Seconds(1);
  EXPECT_EQ(commands_.Stuck(now_, limit), 1);
  commands_.Done(now_, 1, 1);
  EXPECT_EQ(commands_.Stuck(now_, limit), std::nullopt)
      << "it goes on, be it late";
  commands_.Done(now_, 1, 1);  // Again: that is no progress.
  now_ += limit;
  EXPECT_EQ(commands_.Stuck(now_, limit), 0);
  commands_.Done(now_, 0, 2);
  commands_.Done(now_, 1, 2);
  now_ += absl::Minutes(5);
  EXPECT_EQ(commands_.Stuck(now_, limit), std::nullopt);
}

}  // namespace
}  // namespace paceline
