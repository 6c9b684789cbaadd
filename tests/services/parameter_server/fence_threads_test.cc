#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "common/rng.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// A fence comes while its incarnation's pushes are on their way.

namespace paceline {
namespace {

constexpr uint32_t kFenceBlocks = 6;
constexpr uint64_t kFenced = 1;
constexpr uint64_t kOther = 2;

// Pushes iterations of gradients of one until somebody fences the incarnation.
void PushUntilFenced(JobShard& shard, uint32_t first_block, uint32_t step,
                     std::atomic<int64_t>& iteration) {
  for (int64_t i = 1;; ++i) {
    for (uint32_t b = first_block; b < kFenceBlocks; b += step) {
      const auto pushed = Push(shard, PlainPush(kFenced, i, 10 + b), 1);
      if (absl::IsAborted(pushed.status())) return;
      ASSERT_TRUE(pushed.ok()) << pushed.status();
    }
    iteration.store(i);
  }
}

// The weights say how many iterations each block has seen, so that the fence's
// answer can be compared with what really happened.
void ExpectAnswerIsTrue(const FencedPush& answer,
                        const std::vector<float>& values) {
  uint32_t taken = 0;
  for (const float value : values) {
    const int64_t seen = static_cast<int64_t>(-value);
    EXPECT_LE(seen, answer.iteration);
    EXPECT_GE(seen, answer.iteration - 1);
    if (seen == answer.iteration) ++taken;
  }
  EXPECT_EQ(answer.blocks_taken, answer.iteration == 0 ? 0 : taken);
  EXPECT_EQ(answer.blocks, kFenceBlocks);
}

TEST(FenceThreadsTest, NothingIsAppliedAfterItAndItsAnswerIsExact) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto shard = MakeShard(SmallConfig(kFenceBlocks));
    std::atomic<int64_t> iteration = 0;
    std::thread pusher([&] { PushUntilFenced(*shard, 0, 1, iteration); });
    while (iteration.load() < static_cast<int64_t>(seed)) {
      std::this_thread::yield();
    }
    const auto answer = shard->Fence(kFenced);
    const std::vector<float> at_fence = ValuesNow(*shard);
    pusher.join();
    ASSERT_TRUE(answer.ok()) << answer.status();
    ExpectAnswerIsTrue(*answer, at_fence);
    EXPECT_EQ(ValuesNow(*shard), at_fence);
    EXPECT_EQ(*shard->Fence(kFenced), *answer);
  }
}

// Two streams of the fenced worker push halves of the same iterations, while
// another worker pushes to the same blocks and must not be disturbed.
TEST(FenceThreadsTest, OtherWorkersGoOn) {
  constexpr int64_t kOtherIterations = 200;
  const auto shard = MakeShard(SmallConfig(kFenceBlocks));
  std::thread other([&] {
    for (int64_t i = 1; i <= kOtherIterations; ++i) {
      for (uint32_t b = 0; b < kFenceBlocks; ++b) {
        ASSERT_TRUE(Push(*shard, PlainPush(kOther, i, 10 + b), 1000).ok());
      }
    }
  });
  std::atomic<int64_t> iteration = 0;
  std::thread pusher([&] { PushUntilFenced(*shard, 0, 1, iteration); });
  while (iteration.load() < 20) std::this_thread::yield();
  const auto answer = shard->Fence(kFenced);
  pusher.join();
  other.join();
  ASSERT_TRUE(answer.ok());
  std::vector<float> values = ValuesNow(*shard);
  for (float& value : values) value += 1000.0f * kOtherIterations;
  ExpectAnswerIsTrue(*answer, values);
}

// The blocks of one iteration, of an incarnation that may be fenced meanwhile.
std::vector<std::thread> PushOnThreeStreams(JobShard& shard) {
  std::vector<std::thread> streams;
  for (uint32_t stream = 0; stream < 3; ++stream) {
    streams.emplace_back([&shard, stream] {
      for (uint32_t b = stream; b < kFenceBlocks; b += 3) {
        const auto pushed = Push(shard, PlainPush(kFenced, 1, 10 + b), 1);
        ASSERT_TRUE(pushed.ok() || absl::IsAborted(pushed.status()));
      }
    });
  }
  return streams;
}

// The second half of an iteration waits for nothing, so the fence may fall
// between any two of its blocks on either stream.
TEST(FenceThreadsTest, SeveralStreamsOfOneWorker) {
  for (int round = 0; round < 20; ++round) {
    const auto shard = MakeShard(SmallConfig(kFenceBlocks));
    std::vector<std::thread> streams = PushOnThreeStreams(*shard);
    const auto answer = shard->Fence(kFenced);
    const std::vector<float> at_fence = ValuesNow(*shard);
    for (std::thread& stream : streams) stream.join();
    ExpectAnswerIsTrue(*answer, at_fence);
    EXPECT_EQ(ValuesNow(*shard), at_fence);
  }
}

// Should the primary die then, its backup must have what the answer counts.
TEST(FenceThreadsTest, WhatItCountsIsInTheLogBeforeIt) {
  for (int round = 0; round < 200; ++round) {
    const auto shard = MakeShard(SmallConfig(kFenceBlocks));
    const uint64_t following = *shard->Replicate(1, /*hold=*/false, [] {});
    for (uint32_t b = 0; shard->FillFurther(following, b); ++b) {
    }
    std::vector<std::thread> streams = PushOnThreeStreams(*shard);
    const auto answer = shard->Fence(kFenced);
    ASSERT_TRUE(answer.ok());
    shard->LogCommand({.sequence = 2, .what = FenceDone{kFenced, *answer}});
    for (std::thread& stream : streams) stream.join();
    uint32_t pushed = 0;
    while (const auto entry = shard->log().Take(following)) {
      if (std::holds_alternative<CommandEntry>(entry->entry)) break;
      pushed += std::holds_alternative<PushEntry>(entry->entry) ? 1 : 0;
    }
    EXPECT_EQ(pushed, answer->blocks_taken);
    EXPECT_FALSE(shard->log().Take(following).has_value());
  }
}

// Several threads bring the same block at once: one takes it, the others wait
// and learn that it has been taken.
TEST(FenceThreadsTest, OneOfManyTakesABlockAndTheOthersWait) {
  constexpr int64_t kIterations = 300;
  constexpr int kThreads = 4;
  Contributor contributor(1, 1);
  std::vector<std::atomic<int>> takers(kIterations + 1);
  std::atomic<int64_t> arrived = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int64_t iteration = 1; iteration <= kIterations; ++iteration) {
        const auto begun = contributor.Begin(iteration, 0, 8);
        ASSERT_TRUE(begun.ok()) << begun.status();
        if (begun->has_value()) {
          EXPECT_TRUE((*begun)->complete);
        } else {
          takers[iteration].fetch_add(1);
          std::this_thread::yield();
          EXPECT_TRUE(contributor.Finish(iteration, 0, 10, 0));
          EXPECT_TRUE(contributor.End(0).complete);
        }
        arrived.fetch_add(1);
        while (arrived.load() < kThreads * iteration) {
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int64_t iteration = 1; iteration <= kIterations; ++iteration) {
    EXPECT_EQ(takers[iteration].load(), 1) << iteration;
  }
}

}  // namespace
}  // namespace paceline
