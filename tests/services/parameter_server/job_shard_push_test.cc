#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/rng.h"
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

// v = m * v + g, w -= v, with the momentum of the update, or the optimizer's.
TEST(JobShardPushTest, AnUpdateMayHaveAMomentumOfItsOwn) {
  auto config = SmallConfig(1);
  config.optimizer.momentum = 0.5;
  const auto shard = MakeShard(config);
  const auto pushed = [&](int64_t iteration, std::optional<double> momentum) {
    PushBlock push = PlainPush(kWorker, iteration, 10);
    push.momentum = momentum;
    EXPECT_TRUE(Push(*shard, push, 1).ok());
    return ValuesNow(*shard);
  };
  EXPECT_THAT(pushed(1, std::nullopt), ElementsAre(-1));    // v = 1
  EXPECT_THAT(pushed(2, std::nullopt), ElementsAre(-2.5));  // v = 1.5
  EXPECT_THAT(pushed(3, 0.0), ElementsAre(-3.5));           // v = 1
  EXPECT_THAT(pushed(4, 0.25), ElementsAre(-4.75));         // v = 1.25
  ASSERT_TRUE(Push(*shard, RoundPush(kWorker, 5, 10, 7), 1).ok());
  ASSERT_TRUE(shard->Close(1, {7}, 1, 0.8).ok());  // v = 2
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-6.75));
  for (const double wrong : {-0.1, 1.0}) {
    EXPECT_EQ(shard->Close(2, {}, 1, wrong).status().code(),
              StatusCode::kInvalidArgument);
  }
}

// An optimizer without one has nowhere to keep it.
TEST(JobShardPushTest, WhereThereIsNoMomentumNoneIsTaken) {
  const auto shard = MakeShard(SmallConfig(1));
  PushBlock push = PlainPush(kWorker, 1, 10);
  push.momentum = 0.5;
  ASSERT_TRUE(Push(*shard, push, 1).ok());
  push.iteration = 2;
  ASSERT_TRUE(Push(*shard, push, 1).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-2));
}

// It was granted before the schedule lowered the rate, and before it was
// raised.
TEST(JobShardPushTest, AStragglersRateIsNotAboveOneThatWasSetLater) {
  const auto shard = MakeShard(SmallConfig(2));
  const auto pushed = [&](uint64_t incarnation, uint32_t block, double rate,
                          int64_t rated_at) {
    PushBlock push = PlainPush(incarnation, 1, block);
    push.rate = rate;
    push.rated_at = rated_at;
    EXPECT_TRUE(Push(*shard, push, 8).ok());
    return ValuesNow(*shard);
  };
  EXPECT_THAT(pushed(1, 10, 0.25, 7), ElementsAre(-2, 0));
  EXPECT_THAT(pushed(2, 10, 1, 6), ElementsAre(-4, 0));
  EXPECT_THAT(pushed(3, 10, 0.125, 6), ElementsAre(-5, 0));
  EXPECT_THAT(pushed(4, 10, 0.25, 7), ElementsAre(-7, 0));
  EXPECT_THAT(pushed(5, 10, 0.5, 8), ElementsAre(-11, 0));
  // Each block goes by what came for it.
  EXPECT_THAT(pushed(2, 11, 1, 6), ElementsAre(-11, -8));
}

// Of each wire format, and not of what is no gradient.
TEST(JobShardPushTest, SaysTheSquareOfAGradient) {
  auto config = SmallConfig(3);
  config.blocks[2].kind = TensorKind::kStatistic;
  const auto shard = MakeShard(config);
  int64_t iteration = 0;
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kInt8}) {
    ++iteration;
    std::optional<double> square;
    for (const uint32_t block : {10, 11, 12}) {
      const std::vector<float> values(kTestBlockSize, 1.0f + (block == 11));
      std::vector<char> bytes(EncodedSize(dtype, kTestBlockSize));
      ConvertFromF32(dtype, values.data(), values.size(), bytes.data());
      const Payload payload(absl::string_view(bytes.data(), bytes.size()));
      const auto pushed =
          shard->Push(PlainPush(kWorker, iteration, block), payload, dtype);
      ASSERT_TRUE(pushed.ok()) << pushed.status();
      square = pushed->gradient_square;
    }
    EXPECT_NEAR(*square, 5 * 1 + 5 * 4, 1e-3) << DTypeName(dtype);
  }
}

// Of 4 samples one gradient, of 2 the other: their mean is 2, in two blocks of
// five elements.
TEST(JobShardPushTest, AClosingSaysTheSquareOfItsMeanGradient) {
  auto config = SmallConfig(3);
  config.blocks[2].kind = TensorKind::kStatistic;
  const auto shard = MakeShard(config);
  const auto push = [&](uint64_t incarnation, uint32_t samples, float value,
                        uint64_t round, std::vector<uint32_t> blocks) {
    for (const uint32_t block : blocks) {
      PushBlock part =
          RoundPush(incarnation, static_cast<int64_t>(round), block, round);
      part.samples = samples;
      ASSERT_TRUE(Push(*shard, part, value).ok());
    }
  };
  push(1, 4, 1, 7, {10, 11, 12});
  push(2, 2, 4, 7, {10, 11, 12});
  const auto whole = shard->Close(1, {7}, 1);
  ASSERT_TRUE(whole.ok() && whole->has_value()) << whole.status();
  EXPECT_EQ((*whole)->samples, 6u);
  EXPECT_DOUBLE_EQ((*whole)->square, 10 * 4);
  // The blocks have it of unlike samples, or not all of them.
  push(1, 4, 1, 8, {10, 11, 12});
  push(2, 2, 4, 8, {10});
  EXPECT_EQ(*shard->Close(2, {8}, 1), std::nullopt);
  push(1, 4, 1, 9, {10, 12});
  EXPECT_EQ(*shard->Close(3, {9}, 1), std::nullopt);
  EXPECT_EQ(*shard->Close(4, {10}, 1), std::nullopt) << "nothing was pushed";
}

TEST(JobShardPushTest, AShardThatTrainsNothingHasNoPartInTheMean) {
  auto config = SmallConfig(1);
  config.blocks[0].kind = TensorKind::kStatistic;
  const auto shard = MakeShard(config);
  ASSERT_TRUE(Push(*shard, RoundPush(kWorker, 1, 10, 7), 1).ok());
  EXPECT_EQ(*shard->Close(1, {7}, 1), MeanGradient{});
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
  const float infinity = std::numeric_limits<float>::infinity();
  const std::pair<DType, float> kCases[] = {{DType::kF32, infinity},
                                            {DType::kF32, NAN},
                                            {DType::kInt8, infinity},
                                            {DType::kInt8, NAN}};
  for (const auto& [dtype, bad] : kCases) {
    for (size_t position = 0; position < kTestBlockSize; ++position) {
      const auto shard = MakeShard(SmallConfig(2));
      std::vector<float> gradient(kTestBlockSize, 1.0f);
      gradient[position] = bad;
      std::string bytes(EncodedSize(dtype, kTestBlockSize), '\0');
      ConvertFromF32(dtype, gradient.data(), kTestBlockSize, bytes.data());
      auto outcome =
          shard->Push(PlainPush(kWorker, 1, 11), Payload(bytes), dtype);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_THAT(outcome->refused, ElementsAre(11));
      // The retry of a refused block is not a second chance.
      EXPECT_THAT(Push(*shard, PlainPush(kWorker, 1, 11), 1)->refused,
                  ElementsAre(11));
      outcome = Push(*shard, PlainPush(kWorker, 1, 10), 1);
      EXPECT_TRUE(outcome->complete);
      EXPECT_THAT(outcome->refused, ElementsAre(11));
      EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1, 0));
    }
  }
}

TEST(JobShardPushTest, RefusedBlockOfARoundAddsNeitherGradientNorSamples) {
  const auto shard = MakeShard(SmallConfig(1));
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 5), 8).ok());
  EXPECT_THAT(Push(*shard, RoundPush(2, 1, 10, 5), NAN)->refused,
              ElementsAre(10));
  ASSERT_TRUE(shard->Close(1, {5}, 1).ok());
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
           Case{[&](PushBlock& p) { p.momentum = -0.1; }, "momentum"},
           Case{[&](PushBlock& p) { p.momentum = 1; }, "momentum"},
           Case{[&](PushBlock& p) { p.momentum = nan; }, "momentum"},
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
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kInt8}) {
    const size_t right = EncodedSize(dtype, kTestBlockSize);
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
  config.blocks[1].kind = TensorKind::kStatistic;
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
  ASSERT_TRUE(shard->Close(1, {5}, /*rate=*/0).ok());
  const float a = 1 - std::pow(0.9f, 4.0f);
  EXPECT_NEAR(ValuesNow(*shard)[1], 1.0f + a * (3.0f - 1.0f), 1e-6);
}

TEST(JobShardPushTest, AnAverageIsTheMeanOfARoundOrTheLastValue) {
  ShardConfig config = SmallConfig(1, "sgd:momentum=0.9");
  config.blocks[0].kind = TensorKind::kAveraged;
  const auto shard = MakeShard(config);
  PushBlock push = RoundPush(1, 1, 10, 5);
  push.samples = 12;
  ASSERT_TRUE(Push(*shard, push, 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(2, 1, 10, 5), 9).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(0)) << "the round is open";
  ASSERT_TRUE(shard->Close(1, {5}, /*rate=*/0).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(3)) << "(12 * 1 + 4 * 9) / 16";
  ASSERT_TRUE(Push(*shard, PlainPush(1, 2, 10), 8).ok());
  ASSERT_TRUE(Push(*shard, PlainPush(2, 2, 10), 7).ok());
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(7));
}

TEST(JobShardPushTest, FrozenBlocksAreSetAndNeverPushed) {
  ShardConfig config = SmallConfig(3);
  config.blocks[1].kind = TensorKind::kFrozen;
  const auto shard = MakeShard(config);
  EXPECT_EQ(Push(*shard, PlainPush(kWorker, 1, 11), 1).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_FALSE(Push(*shard, PlainPush(kWorker, 1, 10), 1)->complete);
  EXPECT_TRUE(Push(*shard, PlainPush(kWorker, 1, 12), 1)->complete)
      << "the frozen one is not waited for";
  EXPECT_THAT(ValuesNow(*shard), ElementsAre(-1, 0, -1));
  const auto fenced = shard->Fence(kWorker);
  ASSERT_TRUE(fenced.ok());
  EXPECT_EQ(fenced->blocks, 2u);
  EXPECT_EQ(fenced->blocks_taken, 2u);
}

TEST(JobShardPushTest, PullsMayLeaveOutWhatIsFrozen) {
  ShardConfig config = SmallConfig(4);
  config.blocks[0].kind = TensorKind::kFrozen;
  config.blocks[2].kind = TensorKind::kFrozen;
  const auto shard = MakeShard(config);
  PulledBlocks all = *shard->TakeBlocks();
  EXPECT_EQ(all.blocks.size(), 4u) << "a checkpoint has them";
  shard->LeaveOutFrozen(all.blocks);
  ASSERT_EQ(all.blocks.size(), 2u);
  EXPECT_EQ(all.blocks[0].id, 11u);
  EXPECT_EQ(all.blocks[1].id, 13u);
  EXPECT_NE(all.blocks[0].state, nullptr);
}

TEST(JobShardPushTest, TooManyOpenRoundsLeaveTheBlockUntaken) {
  ShardConfig config = SmallConfig(1);
  config.limits.max_open_rounds = 2;
  const auto shard = MakeShard(config);
  ASSERT_TRUE(Push(*shard, RoundPush(1, 1, 10, 1), 1).ok());
  ASSERT_TRUE(Push(*shard, RoundPush(2, 1, 10, 2), 1).ok());
  EXPECT_EQ(Push(*shard, RoundPush(3, 1, 10, 3), 1).status().code(),
            StatusCode::kResourceExhausted);
  ASSERT_TRUE(shard->Close(1, {1}, 1).ok());
  EXPECT_TRUE(Push(*shard, RoundPush(3, 1, 10, 3), 1)->complete);
  EXPECT_EQ(shard->Counters().open_rounds, 2u);
}

// Mostly small numbers, so that calls meet each other; sometimes any bits.
uint64_t Number(Rng& rng) {
  return rng.Chance(9, 10) ? rng.Below(16) : rng.Next();
}

double Real(Rng& rng) {
  if (rng.Chance(3, 4)) return rng.Unit();
  return std::bit_cast<double>(rng.Next());
}

DType AnyDType(Rng& rng) { return static_cast<DType>(rng.Below(4)); }

// A payload of the right size more often than not, in up to three slices, with
// any bits or with small numbers.
class AnyPayload {
 public:
  AnyPayload(Rng& rng, DType dtype) {
    const size_t right = EncodedSize(dtype, kTestBlockSize);
    bytes_.resize(rng.Chance(3, 4) ? right : rng.Below(64));
    if (rng.Chance(1, 2)) {
      for (char& byte : bytes_) byte = static_cast<char>(rng.Next());
    }
    const size_t a = rng.Below(bytes_.size() + 1);
    const size_t b = a + rng.Below(bytes_.size() - a + 1);
    const absl::string_view all = bytes_;
    payload_.Append(all.substr(0, a));
    payload_.Append(all.substr(a, b - a));
    payload_.Append(all.substr(b));
  }
  const Payload& payload() const { return payload_; }

 private:
  std::string bytes_;
  Payload payload_;
};

PushBlock AnyPush(Rng& rng) {
  return {.incarnation = Number(rng) % 20,
          .iteration = static_cast<int64_t>(Number(rng)),
          .block = static_cast<uint32_t>(Number(rng)),
          .samples = static_cast<uint32_t>(Number(rng)),
          .weight = static_cast<float>(Real(rng)),
          .rate = Real(rng),
          .round_plan = rng.Chance(1, 2),
          .round = Number(rng)};
}

void AnyCommand(Rng& rng, JobShard& shard) {
  switch (rng.Below(4)) {
    case 0: {
      std::vector<uint64_t> rounds(rng.Below(5));
      for (uint64_t& round : rounds) round = Number(rng);
      (void)shard.Close(static_cast<int64_t>(Number(rng)), rounds, Real(rng));
      return;
    }
    case 1:
      (void)shard.Fence(rng.Chance(1, 8) ? Number(rng) : rng.Next());
      return;
    case 2:
      (void)shard.Snapshot(Number(rng));
      return;
    default:
      shard.ReleaseSnapshot(Number(rng));
      return;
  }
}

void AnyCall(Rng& rng, JobShard& shard) {
  const DType dtype = AnyDType(rng);
  const AnyPayload payload(rng, dtype);
  const Puller puller{
      .owner = Number(rng),
      .incarnation = Number(rng),
      .deadline = absl::FromUnixSeconds(static_cast<int64_t>(rng.Below(1000)))};
  const auto ignore = [](absl::StatusOr<PulledBlocks>) {};
  switch (rng.Below(10)) {
    case 0:
      return shard.Pull(puller, static_cast<int64_t>(Number(rng)), ignore);
    case 1:
      return shard.PullSnapshot(puller, Number(rng), ignore);
    case 2:
      return shard.ExpirePulls(
          absl::FromUnixSeconds(static_cast<int64_t>(rng.Below(1000))));
    case 3:
      return shard.CancelPulls(Number(rng));
    case 4:
      return AnyCommand(rng, shard);
    case 5:
      (void)shard.SetBlock(static_cast<uint32_t>(Number(rng)),
                           payload.payload(), dtype);
      return;
    default:
      (void)shard.Push(AnyPush(rng), payload.payload(), dtype);
      return;
  }
}

// Whatever peers send, nothing crashes, hangs or reads outside its bounds, and
// every bound that the limits name holds.
TEST(JobShardFuzzTest, AnyCallsInAnyOrder) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    ShardConfig config =
        SmallConfig(3, seed % 2 == 0 ? "sgd:momentum=0.9" : "adam");
    config.blocks[2].kind = static_cast<TensorKind>(seed % 4);
    config.limits.max_open_rounds = 4;
    config.limits.max_parked_pulls = 8;
    config.limits.max_snapshots = 5;
    config.limits.max_incarnations = 12;
    const auto shard = *JobShard::Create(config);
    if (rng.Chance(3, 4)) {
      ASSERT_TRUE(SetAll(*shard, 1).ok());
    }
    for (int call = 0; call < 1500; ++call) {
      AnyCall(rng, *shard);
      const ShardCounters counters = shard->Counters();
      ASSERT_LE(counters.open_rounds, 4u);
      ASSERT_LE(counters.parked_pulls, 8u);
      ASSERT_LE(counters.snapshots, 5u);
    }
    shard->Stop("the test is over");
    EXPECT_EQ(shard->Counters().parked_pulls, 0u);
  }
}

}  // namespace

}  // namespace paceline
