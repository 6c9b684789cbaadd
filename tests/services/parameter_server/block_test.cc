#include "services/parameter_server/block.h"

#include <gtest/gtest.h>

#include <vector>

namespace paceline {
namespace {

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

}  // namespace
}  // namespace paceline
