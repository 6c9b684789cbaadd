#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/rng.h"
#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {
namespace {

// Mostly small numbers, so that calls meet each other; sometimes any bits.
uint64_t Number(Rng& rng) {
  return rng.Chance(9, 10) ? rng.Below(16) : rng.Next();
}

double Real(Rng& rng) {
  if (rng.Chance(3, 4)) return rng.Unit();
  return std::bit_cast<double>(rng.Next());
}

DType AnyDType(Rng& rng) { return static_cast<DType>(rng.Below(3)); }

// A payload of the right size more often than not, in up to three slices, with
// any bits or with small numbers.
class AnyPayload {
 public:
  AnyPayload(Rng& rng, DType dtype) {
    const size_t right = kTestBlockSize * ElementSize(dtype);
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
  const uint64_t sequence = shard.last_sequence() + rng.Below(3);
  switch (rng.Below(4)) {
    case 0: {
      std::vector<uint64_t> rounds(rng.Below(5));
      for (uint64_t& round : rounds) round = Number(rng);
      (void)shard.Close(sequence, static_cast<int64_t>(Number(rng)), rounds,
                        Real(rng));
      return;
    }
    case 1:
      (void)shard.Fence(sequence, rng.Chance(1, 8) ? Number(rng) : rng.Next());
      return;
    case 2:
      (void)shard.Snapshot(sequence, Number(rng));
      return;
    default:
      (void)shard.ReleaseSnapshot(sequence, Number(rng));
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
    config.blocks[2].statistic = true;
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
