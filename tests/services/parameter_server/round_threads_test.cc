#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "common/rng.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// Pushes of small integers race closings: whatever the order, they must add up
// exactly, none lost and none doubled.

namespace paceline {
namespace {

constexpr uint32_t kRoundBlocks = 4;
constexpr int64_t kRoundIterations = 60;

float Gradient(uint64_t worker, int64_t iteration, uint32_t block) {
  return static_cast<float>((worker * 7 + iteration * 3 + block) % 8);
}

// What all pushes together move a block by.
float Total(uint64_t workers, uint32_t block) {
  float total = 0;
  for (uint64_t worker = 1; worker <= workers; ++worker) {
    for (int64_t iteration = 1; iteration <= kRoundIterations; ++iteration) {
      total += Gradient(worker, iteration, block);
    }
  }
  return total;
}

// Pushes one iteration's blocks in a random order, some of them twice.
void PushIteration(JobShard& shard, Rng& rng, uint64_t worker,
                   int64_t iteration, bool round_plan) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < kRoundBlocks; ++i) {
    order.insert(order.end(), 1 + rng.Below(2), i);
  }
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[rng.Below(i)]);
  }
  PushOutcome outcome;
  for (const uint32_t i : order) {
    PushBlock push = PlainPush(worker, iteration, 10 + i);
    push.round_plan = round_plan;
    push.round = rng.Below(3);
    const auto pushed = Push(shard, push, Gradient(worker, iteration, i));
    ASSERT_TRUE(pushed.ok()) << pushed.status();
    outcome = *pushed;
  }
  EXPECT_TRUE(outcome.complete);
}

// Closes all rounds again and again until told to stop, and once more then.
void CloseUntil(JobShard& shard, const std::atomic<bool>& done) {
  bool last = false;
  for (int64_t closing = 1; !last; ++closing) {
    last = done.load();
    ASSERT_TRUE(shard.Close(closing, {0, 2, 1}, 1).ok());
    std::this_thread::yield();
  }
}

void Race(uint64_t workers, bool some_immediate) {
  const auto shard = MakeShard(SmallConfig(kRoundBlocks));
  std::atomic<bool> done = false;
  std::thread closer([&] { CloseUntil(*shard, done); });
  std::vector<std::thread> pushers;
  for (uint64_t worker = 1; worker <= workers; ++worker) {
    pushers.emplace_back([&, worker] {
      Rng rng(worker);
      for (int64_t iteration = 1; iteration <= kRoundIterations; ++iteration) {
        const bool round_plan = !some_immediate || rng.Chance(1, 2);
        PushIteration(*shard, rng, worker, iteration, round_plan);
      }
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  done.store(true);
  closer.join();
  const std::vector<float> values = ValuesNow(*shard);
  for (uint32_t i = 0; i < kRoundBlocks; ++i) {
    EXPECT_EQ(values[i], -Total(workers, i)) << "block " << i;
  }
  EXPECT_EQ(shard->Counters().open_rounds, 0u);
}

TEST(RoundThreadsTest, PushesRacingClosingsAddUpExactly) {
  for (const uint64_t workers : {1, 2, 5}) Race(workers, false);
}

TEST(RoundThreadsTest, ImmediateAndRoundPushesTogetherAddUpExactly) {
  Race(4, /*some_immediate=*/true);
}

// One worker's blocks come in on several streams, every one of which sends all
// of them: each is taken from exactly one, and every stream learns the end.
TEST(RoundThreadsTest, OneWorkerOnSeveralThreadsIsTakenOnce) {
  constexpr int kStreams = 3;
  const auto shard = MakeShard(SmallConfig(kRoundBlocks));
  std::vector<std::thread> streams;
  std::atomic<int64_t> arrived = 0;
  for (int stream = 0; stream < kStreams; ++stream) {
    streams.emplace_back([&, stream] {
      Rng rng(stream);
      for (int64_t iteration = 1; iteration <= kRoundIterations; ++iteration) {
        PushIteration(*shard, rng, 1, iteration, /*round_plan=*/false);
        // The next iteration begins when all have their acknowledgement.
        arrived.fetch_add(1);
        while (arrived.load() < kStreams * iteration) std::this_thread::yield();
      }
    });
  }
  for (std::thread& stream : streams) stream.join();
  const std::vector<float> values = ValuesNow(*shard);
  for (uint32_t i = 0; i < kRoundBlocks; ++i)
    EXPECT_EQ(values[i], -Total(1, i));
}

}  // namespace
}  // namespace paceline
