#include "services/parameter_server/round_sums.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "services/parameter_server/block.h"
#include "services/parameter_server/snapshots.h"

namespace paceline {
namespace {

class RoundSumsTest : public testing::Test {
 protected:
  absl::Status Add(RoundSums& sums, uint64_t round, uint32_t samples,
                   float factor, float gradient) {
    const std::vector<float> values(kSize, gradient);
    return sums.Add(round, samples, factor,
                    Payload::OfFloats(values.data(), values.size()),
                    DType::kF32);
  }

  static constexpr size_t kSize = 3;
  OpenRounds open_{2};
  RoundSums sums_{kSize, &open_};
};

TEST_F(RoundSumsTest, SumsPerRoundUntilDrained) {
  ASSERT_TRUE(Add(sums_, 7, 4, 4, 1).ok());
  ASSERT_TRUE(Add(sums_, 7, 2, 1, 10).ok());
  ASSERT_TRUE(Add(sums_, 8, 1, 1, 100).ok());
  EXPECT_EQ(open_.size(), 2u);
  const auto drained = sums_.Drain({7});
  ASSERT_TRUE(drained.has_value());
  EXPECT_EQ(drained->samples, 6u);
  EXPECT_EQ(drained->sum[2], 14);
  EXPECT_EQ(open_.size(), 1u);
  EXPECT_FALSE(sums_.Drain({7}).has_value());
}

TEST_F(RoundSumsTest, DrainsSeveralRoundsAsOne) {
  ASSERT_TRUE(Add(sums_, 7, 4, 4, 1).ok());
  ASSERT_TRUE(Add(sums_, 8, 1, 1, 100).ok());
  const auto drained = sums_.Drain({9, 8, 7, 7});
  ASSERT_TRUE(drained.has_value());
  EXPECT_EQ(drained->samples, 5u);
  EXPECT_EQ(drained->sum[0], 104);
  EXPECT_EQ(open_.size(), 0u);
}

TEST_F(RoundSumsTest, GathersAgainUnderTheSameId) {
  ASSERT_TRUE(Add(sums_, 7, 4, 4, 1).ok());
  auto first = sums_.Drain({7});
  sums_.Recycle(std::move(first->sum));
  ASSERT_TRUE(Add(sums_, 7, 2, 2, 5).ok());
  const auto second = sums_.Drain({7});
  EXPECT_EQ(second->samples, 2u) << "nothing of the first time is left";
  EXPECT_EQ(second->sum[0], 10);
}

TEST_F(RoundSumsTest, OpensOnlySoManyRoundsPerJob) {
  RoundSums other(kSize, &open_);
  ASSERT_TRUE(Add(sums_, 1, 1, 1, 1).ok());
  ASSERT_TRUE(Add(other, 2, 1, 1, 1).ok());
  EXPECT_EQ(Add(sums_, 3, 1, 1, 1).code(),
            absl::StatusCode::kResourceExhausted);
  // Rounds that are open already take more blocks.
  EXPECT_TRUE(Add(sums_, 2, 1, 1, 1).ok());
  ASSERT_TRUE(sums_.Drain({2}).has_value());
  EXPECT_EQ(open_.size(), 2u) << "the other block still has its sum of 2";
  ASSERT_TRUE(other.Drain({2}).has_value());
  EXPECT_TRUE(Add(sums_, 3, 1, 1, 1).ok());
}

// Adds one to every weight and takes one from the first slot.
void AddOne(const BlockState& current, BlockState& next) {
  for (size_t i = 0; i < current.size(); ++i) {
    next.weights()[i] = current.weights()[i] + 1;
    next.slot(0)[i] = current.slot(0)[i] - 1;
  }
}

class BlockTest : public testing::Test {
 protected:
  absl::StatusOr<bool> SetTo(float value) {
    const std::vector<float> values(block_.size(), value);
    return block_.Set(Payload::OfFloats(values.data(), values.size()),
                      DType::kF32);
  }

  Block block_{6, 1};
};

TEST_F(BlockTest, HasNoStateBeforeItIsSet) {
  EXPECT_EQ(block_.Read(), nullptr);
  EXPECT_TRUE(*SetTo(2));
  const auto state = block_.Read();
  EXPECT_EQ(state->weights()[5], 2);
  EXPECT_EQ(state->slot(0)[5], 0);
  EXPECT_EQ(state->slot(1), nullptr);
  EXPECT_EQ(state->steps(), 0u);
}

TEST_F(BlockTest, MayBeSetAgainUntilItIsUpdated) {
  EXPECT_TRUE(*SetTo(2));
  EXPECT_FALSE(*SetTo(3)) << "the second time is not the first";
  EXPECT_EQ(block_.Read()->weights()[0], 3);
  block_.Update(AddOne);
  EXPECT_EQ(SetTo(4).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(block_.Read()->weights()[0], 4) << "3, and the update";
}

TEST_F(BlockTest, UpdatesInPlaceWhenNobodyHoldsIt) {
  ASSERT_TRUE(SetTo(0).ok());
  const BlockState* before = block_.Read().get();
  block_.Update(AddOne);
  EXPECT_EQ(block_.Read().get(), before);
  EXPECT_EQ(before->weights()[0], 1);
}

TEST_F(BlockTest, WritesAnotherWhileSomebodyHoldsIt) {
  ASSERT_TRUE(SetTo(0).ok());
  const auto held = block_.Read();
  block_.Update(AddOne);
  block_.Update(AddOne);
  EXPECT_EQ(held->weights()[3], 0);
  EXPECT_EQ(held->slot(0)[3], 0);
  EXPECT_EQ(held->steps(), 0u);
  const auto now = block_.Read();
  EXPECT_EQ(now->weights()[3], 2);
  EXPECT_EQ(now->slot(0)[3], -2);
  EXPECT_EQ(now->steps(), 2u);
}

TEST_F(BlockTest, ArraysDoNotOverlapAndAreAligned) {
  for (const size_t size : {1, 15, 16, 17}) {
    BlockState state(size, 2);
    for (const float* array : {state.weights(), state.slot(0), state.slot(1)}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(array) % 64, 0u);
    }
    EXPECT_GE(state.slot(0), state.weights() + size);
    EXPECT_GE(state.slot(1), state.slot(0) + size);
  }
}

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
