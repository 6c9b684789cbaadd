#include "services/parameter_server/snapshots.h"

#include <gtest/gtest.h>

#include <memory>

namespace paceline {
namespace {

std::shared_ptr<const BlockState> MakeState() {
  return std::make_shared<BlockState>(/*size=*/25, /*slots=*/0);  // 100 bytes.
}

TEST(SnapshotsTest, SharedStatesCountOnce) {
  Snapshots snapshots(10, std::make_shared<ByteBudget>(250));
  const auto a = MakeState();
  const auto b = MakeState();
  ASSERT_TRUE(snapshots.Add(1, {.closing = 4, .blocks = {{0, a}}}).ok());
  ASSERT_TRUE(snapshots.Add(2, {.closing = 5, .blocks = {{0, a}}}).ok());
  EXPECT_EQ(snapshots.bytes(), 100u);
  ASSERT_TRUE(snapshots.Add(3, {.closing = 6, .blocks = {{0, b}}}).ok());
  EXPECT_EQ(snapshots.bytes(), 200u);
  EXPECT_EQ(snapshots.Find(2)->closing, 5);
  EXPECT_EQ(
      snapshots.Add(4, {.closing = 7, .blocks = {{0, MakeState()}}}).code(),
      absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(snapshots.Find(4), nullptr);
  snapshots.Release(1);
  EXPECT_EQ(snapshots.bytes(), 200u) << "snapshot 2 still has it";
  EXPECT_EQ(snapshots.Release(2).blocks.size(), 1u);
  EXPECT_EQ(snapshots.bytes(), 100u);
  EXPECT_TRUE(
      snapshots.Add(4, {.closing = 7, .blocks = {{0, MakeState()}}}).ok());
}

TEST(SnapshotsTest, BoundsTheirNumberAndRefusesAnIdInUse) {
  Snapshots snapshots(2, std::make_shared<ByteBudget>(1000));
  ASSERT_TRUE(snapshots.Add(1, {}).ok());
  EXPECT_EQ(snapshots.Add(1, {}).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(snapshots.Add(2, {}).ok());
  EXPECT_EQ(snapshots.Add(3, {}).code(), absl::StatusCode::kResourceExhausted);
  snapshots.Release(1);
  snapshots.Release(99);
  EXPECT_TRUE(snapshots.Add(3, {}).ok());
  EXPECT_EQ(snapshots.size(), 2u);
}

TEST(SnapshotsTest, LetsGoOfWhatItReleases) {
  Snapshots snapshots(2, std::make_shared<ByteBudget>(1000));
  std::shared_ptr<const BlockState> state = MakeState();
  const std::weak_ptr<const BlockState> watched = state;
  ASSERT_TRUE(snapshots.Add(1, {.closing = 0, .blocks = {{0, state}}}).ok());
  state.reset();
  EXPECT_FALSE(watched.expired());
  snapshots.Release(1);
  EXPECT_TRUE(watched.expired());
}

// A server has so much memory, however many jobs it hosts.
TEST(SnapshotsTest, JobsShareTheirBudget) {
  const auto budget = std::make_shared<ByteBudget>(150);
  Snapshots one(10, budget);
  {
    Snapshots other(10, budget);
    ASSERT_TRUE(
        other.Add(1, {.closing = 1, .blocks = {{0, MakeState()}}}).ok());
    EXPECT_EQ(one.Add(1, {.closing = 1, .blocks = {{0, MakeState()}}}).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(one.bytes(), 0u);
  }
  EXPECT_EQ(budget->taken(), 0u) << "a job that ends gives back what it has";
  EXPECT_TRUE(one.Add(1, {.closing = 1, .blocks = {{0, MakeState()}}}).ok());
  one.Release(1);
  EXPECT_EQ(budget->taken(), 0u);
}

}  // namespace
}  // namespace paceline
