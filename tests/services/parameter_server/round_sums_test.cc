#include "services/parameter_server/round_sums.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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

}  // namespace
}  // namespace paceline
