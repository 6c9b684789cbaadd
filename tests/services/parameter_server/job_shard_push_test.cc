#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/services/parameter_server/job_shard_testing.h"

// What JobShard does with pushes, one thread at a time.

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kWorker = 77;

TEST(JobShardPushTest, ImmediatePushMovesItsBlockAsItArrives) {
  const auto shard = MakeShard(SmallConfig(3));
  auto outcome = Push(*shard, PlainPush(kWorker, 1, 11), 2);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_FALSE(outcome->complete);
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(0, -2, 0));
  ASSERT_TRUE(Push(*shard, PlainPush(kWorker, 1, 10), 1).ok());
  outcome = Push(*shard, PlainPush(kWorker, 1, 12), 3);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->complete);
  EXPECT_THAT(outcome->refused, IsEmpty());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1, -2, -3));
}

TEST(JobShardPushTest, StrengthIsWeightTimesSamplesOverBatch) {
  const auto shard = MakeShard(SmallConfig(1));
  PushBlock push = PlainPush(kWorker, 1, 10);
  push.samples = 2;     // Half a batch,
  push.weight = 0.25f;  // damped to an eighth,
  push.rate = 4;        // at four times the rate.
  ASSERT_TRUE(Push(*shard, push, 16).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-8));
}

TEST(JobShardPushTest, RepeatedBlockAppliesNothingTwice) {
  const auto shard = MakeShard(SmallConfig(2));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Push(*shard, PlainPush(kWorker, 1, 10), 1)->complete);
  }
  EXPECT_TRUE(Push(*shard, PlainPush(kWorker, 1, 11), 1)->complete);
  EXPECT_TRUE(Push(*shard, PlainPush(kWorker, 1, 10), 1)->complete);
  // Under another plan it is still the same block of the same iteration.
  EXPECT_TRUE(Push(*shard, RoundPush(kWorker, 1, 10, 5), 1)->complete);
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1, -1));
  EXPECT_EQ(shard->Counters().repeated_pushes, 4u);
  EXPECT_EQ(shard->Counters().open_rounds, 0u);
}

TEST(JobShardPushTest, LargerIterationStartsAnewAndSmallerOneIsOver) {
  const auto shard = MakeShard(SmallConfig(2));
  ASSERT_TRUE(Push(*shard, PlainPush(kWorker, 3, 10), 1).ok());
  EXPECT_FALSE(Push(*shard, PlainPush(kWorker, 9, 11), 1)->complete)
      << "block 10 of iteration 3 does not count for iteration 9";
  EXPECT_EQ(Push(*shard, PlainPush(kWorker, 3, 11), 1).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Push(*shard, PlainPush(kWorker, 9, 10), 1)->complete);
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-2, -1));
}

TEST(JobShardPushTest, IncarnationsCountApart) {
  const auto shard = MakeShard(SmallConfig(1));
  EXPECT_TRUE(Push(*shard, PlainPush(1, 5, 10), 1)->complete);
  EXPECT_TRUE(Push(*shard, PlainPush(2, 1, 10), 1)->complete);
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-2));
}

TEST(JobShardPushTest, BlockThatIsNotFiniteIsRefusedAndCountsAsTaken) {
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (size_t position = 0; position < kTestBlockSize; ++position) {
      const auto shard = MakeShard(SmallConfig(2));
      std::vector<float> gradient(kTestBlockSize, 1.0f);
      gradient[position] = bad;
      auto outcome =
          shard->Push(PlainPush(kWorker, 1, 11),
                      Payload::OfFloats(&gradient[0], 5), DType::kF32);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_THAT(outcome->refused, ElementsAre(11));
      // The retry of a refused block is not a second chance.
      EXPECT_THAT(Push(*shard, PlainPush(kWorker, 1, 11), 1)->refused,
                  ElementsAre(11));
      outcome = Push(*shard, PlainPush(kWorker, 1, 10), 1);
      EXPECT_TRUE(outcome->complete);
      EXPECT_THAT(outcome->refused, ElementsAre(11));
      EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1, 0));
      EXPECT_EQ(shard->Counters().refused_blocks, 1u);
    }
  }
}

TEST(JobShardPushTest, RefusedBlockOfARoundAddsNeitherGradientNorSamples) {
  const auto shard = MakeShard(SmallConfig(1));
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 8).ok());
  EXPECT_THAT(Push(*shard, RoundPush(2, 1, 10, 5), NAN)->refused,
              ElementsAre(10));
  ASSERT_TRUE(shard->Close(1, 1, {5}, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-8));
}

TEST(JobShardPushTest, RefusesAbsurdHeads) {
  const auto shard = MakeShard(SmallConfig(1));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  struct Case {
    std::function<void(PushBlock&)> spoil;
    const char* message;
  };
  for (const Case& c : {
           Case{[&](PushBlock& p) { p.iteration = 0; }, "iteration"},
           Case{[&](PushBlock& p) { p.iteration = -1; }, "iteration"},
           Case{[&](PushBlock& p) { p.samples = 0; }, "sample count"},
           Case{[&](PushBlock& p) { p.samples = ~0u; }, "sample count"},
           Case{[&](PushBlock& p) { p.weight = -1; }, "weight"},
           Case{[&](PushBlock& p) { p.weight = nan; }, "weight"},
           Case{[&](PushBlock& p) { p.weight = infinity; }, "weight"},
           Case{[&](PushBlock& p) { p.rate = -0.1; }, "rate"},
           Case{[&](PushBlock& p) { p.rate = nan; }, "rate"},
           Case{[&](PushBlock& p) { p.rate = infinity; }, "rate"},
           Case{[&](PushBlock& p) { p.block = 9; }, "block 9 is not hosted"},
       }) {
    PushBlock push = PlainPush(kWorker, 1, 10);
    c.spoil(push);
    const auto outcome = Push(*shard, push, 1);
    EXPECT_EQ(outcome.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(outcome.status().message()), HasSubstr(c.message));
  }
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(0));
  EXPECT_TRUE(Push(*shard, PlainPush(kWorker, 1, 10), 1)->complete)
      << "none of them has used up the block";
}

TEST(JobShardPushTest, RefusesPayloadsOfTheWrongSize) {
  const auto shard = MakeShard(SmallConfig(1));
  const std::string bytes(64, '\0');
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const size_t right = kTestBlockSize * ElementSize(dtype);
    for (size_t size = 0; size <= bytes.size(); ++size) {
      if (size == right) continue;
      const Payload payload(absl::string_view(bytes).substr(0, size));
      EXPECT_EQ(shard->Push(PlainPush(kWorker, 1, 10), payload, dtype)
                    .status()
                    .code(),
                StatusCode::kInvalidArgument);
      EXPECT_EQ(shard->SetBlock(10, payload, dtype).code(),
                StatusCode::kInvalidArgument);
    }
  }
}

TEST(JobShardPushTest, NeedsInitialValues) {
  const auto shard = *JobShard::Create(SmallConfig(2));
  ASSERT_TRUE(shard->SetBlock(10, Uniform(1).payload(), DType::kF32).ok());
  EXPECT_EQ(Push(*shard, PlainPush(kWorker, 1, 10), 1).status().code(),
            StatusCode::kFailedPrecondition);
  ASSERT_TRUE(shard->SetBlock(11, Uniform(1).payload(), DType::kF32).ok());
  EXPECT_TRUE(Push(*shard, PlainPush(kWorker, 1, 10), 1).ok());
}

TEST(JobShardPushTest, InitialValuesMayBeRepeatedUntilTheFirstPush) {
  const auto shard = MakeShard(SmallConfig(2));
  ASSERT_TRUE(SetAll(*shard, 3).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(3, 3));
  EXPECT_EQ(shard->SetBlock(10, Uniform(NAN).payload(), DType::kF32).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(shard->SetBlock(99, Uniform(1).payload(), DType::kF32).code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(Push(*shard, RoundPush(kWorker, 1, 10, 5), 1).ok());
  EXPECT_EQ(SetAll(*shard, 4).code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(3, 3));
}

TEST(JobShardPushTest, StatisticsIgnoreRateAndWeight) {
  ShardConfig config = SmallConfig(2, "sgd:momentum=0.9");
  config.blocks[1].statistic = true;
  const auto shard = MakeShard(config);
  PushBlock push = PlainPush(kWorker, 1, 11);
  push.rate = 0;
  push.weight = 0.5f;
  ASSERT_TRUE(Push(*shard, push, 10).ok());
  EXPECT_FLOAT_EQ(ValuesNow(*shard)[1], 1.0f) << "a = 1 - 0.9";
  // In a round: the mean by samples, (12 * 1 + 4 * 9) / 16, of four batches.
  push = RoundPush(1, 1, 11, 5);
  push.samples = 12;
  push.weight = 0.1f;
  ASSERT_TRUE(Push(*shard, push, 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(2, 1, 11, 5), 9).ok());
  ASSERT_TRUE(shard->Close(1, 1, {5}, /*rate=*/0).ok());
  const float a = 1 - std::pow(0.9f, 4.0f);
  EXPECT_NEAR(ValuesNow(*shard)[1], 1.0f + a * (3.0f - 1.0f), 1e-6);
}

TEST(JobShardPushTest, TooManyOpenRoundsLeaveTheBlockUntaken) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_open_rounds = 2;
  const auto shard = MakeShard(config);
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 1), 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(2, 1, 10, 2), 1).ok());
  EXPECT_EQ(Push(*shard, RoundPush(3, 1, 10, 3), 1).status().code(),
            StatusCode::kResourceExhausted);
  ASSERT_TRUE(shard->Close(1, 1, {1}, 1).ok());
  EXPECT_TRUE(Push(*shard, RoundPush(3, 1, 10, 3), 1)->complete);
  EXPECT_EQ(shard->Counters().open_rounds, 2u);
}

TEST(JobShardPushTest, CountsWhatItDoes) {
  const auto shard = MakeShard(SmallConfig(2));
  ASSERT_TRUE(Push(*shard, PlainPush(1, 1, 10), 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 11, 5), 1).ok());
  const ShardCounters counters = shard->Counters();
  EXPECT_EQ(counters.pushes, 2u);
  EXPECT_EQ(counters.push_bytes, 40u);
  EXPECT_EQ(counters.updates, 1u);
  EXPECT_EQ(counters.open_rounds, 1u);
}

}  // namespace
}  // namespace paceline
