#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "common/rng.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// Parked pulls and snapshots while everything else goes on.

namespace paceline {
namespace {

constexpr uint32_t kPullBlocks = 3;
constexpr int64_t kClosings = 200;

absl::Time At(uint64_t seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

struct Tally {
  std::atomic<int> asked = 0;
  std::atomic<int> served = 0;
  std::atomic<int> ended = 0;
  std::atomic<int> early = 0;  // Blocks.
};

// Asks for closings in order, each with one of several streams and deadlines.
void PullClosings(JobShard& shard, uint64_t puller, Tally& tally) {
  Rng rng(puller);
  for (int64_t closing = 1; closing <= kClosings; ++closing) {
    tally.asked.fetch_add(1);
    const auto early = [closing, &tally](const PulledBlock& block) {
      EXPECT_LE(block.state->weights()[0], static_cast<float>(-closing));
      tally.early.fetch_add(1);
    };
    shard.Pull(
        {.owner = puller,
         .incarnation = puller,
         .deadline = At(1 + rng.Below(100))},
        closing,
        [closing, &tally](absl::StatusOr<PulledBlocks> pulled) {
          if (!pulled.ok()) {
            EXPECT_TRUE(absl::IsUnavailable(pulled.status()));
            tally.ended.fetch_add(1);
            return;
          }
          EXPECT_GE(pulled->closing, closing);
          // Every closing subtracts one from every block.
          for (const float value : Values(*pulled)) {
            EXPECT_LE(value, static_cast<float>(-closing));
          }
          tally.served.fetch_add(1);
        },
        early);
  }
}

void CloseAll(JobShard& shard) {
  for (int64_t closing = 1; closing <= kClosings; ++closing) {
    for (uint32_t b = 0; b < kPullBlocks; ++b) {
      ASSERT_TRUE(Push(shard, RoundPush(99, closing, 10 + b, 1), 1).ok());
    }
    ASSERT_TRUE(shard.Close(closing, {1}, 1).ok());
  }
}

TEST(PullThreadsTest, EveryPullIsAnsweredOnceWithWhatItWaitedFor) {
  const auto shard = MakeShard(SmallConfig(kPullBlocks));
  Tally tally;
  std::vector<std::thread> threads;
  for (uint64_t puller = 1; puller <= 4; ++puller) {
    threads.emplace_back([&, puller] { PullClosings(*shard, puller, tally); });
  }
  threads.emplace_back([&] { CloseAll(*shard); });
  threads.emplace_back([&] {
    for (uint64_t second = 0; second < 50; ++second) {
      shard->ExpirePulls(At(second));
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tally.asked.load(), 4 * kClosings);
  EXPECT_EQ(tally.served.load() + tally.ended.load(), tally.asked.load());
  EXPECT_GT(tally.early.load(), 0);
  EXPECT_EQ(shard->Counters().parked_pulls, 0u);
}

// Asks for 50 closings that may come or not.
void PullFifty(JobShard& shard, uint64_t puller, absl::Time deadline,
               Tally& tally) {
  for (int64_t closing = 1; closing <= 50; ++closing) {
    tally.asked.fetch_add(1);
    shard.Pull({.owner = puller, .incarnation = puller, .deadline = deadline},
               closing, [&tally](absl::StatusOr<PulledBlocks> pulled) {
                 (pulled.ok() ? tally.served : tally.ended).fetch_add(1);
               });
  }
}

// A fence, a cancellation and the stop come in the middle. A cancelled pull
// may go unanswered; none is answered twice, and a fenced one does not stay.
TEST(PullThreadsTest, EndingsRaceServings) {
  for (int round = 0; round < 100; ++round) {
    const auto shard = MakeShard(SmallConfig(kPullBlocks));
    Tally tally;
    std::vector<std::thread> threads;
    // Only the fenced one has a deadline, to tell its pulls from the others.
    threads.emplace_back([&] { PullFifty(*shard, 1, At(1), tally); });
    for (const uint64_t puller : {2, 3}) {
      threads.emplace_back([&, puller] {
        PullFifty(*shard, puller, absl::InfiniteFuture(), tally);
      });
    }
    threads.emplace_back([&] { ASSERT_TRUE(shard->Fence(1).ok()); });
    threads.emplace_back([&] { shard->CancelPulls(2); });
    for (std::thread& thread : threads) thread.join();
    const int ended = tally.ended.load();
    shard->ExpirePulls(At(1));
    EXPECT_EQ(tally.ended.load(), ended) << "none of the fenced one's is left";
    ASSERT_TRUE(shard->Close(20, {}, 1).ok());
    shard->Stop("the test is over");
    EXPECT_LE(tally.served.load() + tally.ended.load(), tally.asked.load());
    EXPECT_GE(tally.served.load() + tally.ended.load(), 2 * 50)
        << "only the cancelled stream's may be missing";
    EXPECT_EQ(shard->Counters().parked_pulls, 0u);
  }
}

std::vector<float> BitsOf(const PulledBlocks& pulled) {
  std::vector<float> bits;
  for (const PulledBlock& block : pulled.blocks) {
    const BlockState& state = *block.state;
    bits.push_back(static_cast<float>(state.steps()));
    bits.insert(bits.end(), state.weights(), state.weights() + state.size());
    bits.insert(bits.end(), state.slot(0), state.slot(0) + state.size());
  }
  return bits;
}

TEST(PullThreadsTest, SnapshotsStayBitIdenticalWhilePushesGoOn) {
  const auto shard = MakeShard(SmallConfig(kPullBlocks, "sgd:momentum=0.9"));
  std::atomic<bool> done = false;
  std::vector<std::thread> pushers;
  for (uint64_t worker = 1; worker <= 3; ++worker) {
    pushers.emplace_back([&, worker] {
      for (int64_t i = 1; !done.load(); ++i) {
        for (uint32_t b = 0; b < kPullBlocks; ++b) {
          ASSERT_TRUE(Push(*shard, PlainPush(worker, i, 10 + b), 0.1f).ok());
        }
      }
    });
  }
  std::vector<std::vector<float>> bits;
  for (uint64_t id = 1; id <= 100; ++id) {
    ASSERT_TRUE(shard->Snapshot(id).ok());
    PullResult result;
    shard->PullSnapshot({.deadline = absl::InfiniteFuture()}, id,
                        result.callback());
    bits.push_back(BitsOf(result.blocks()));
  }
  done.store(true);
  for (std::thread& pusher : pushers) pusher.join();
  for (uint64_t id = 1; id <= 100; ++id) {
    PullResult result;
    shard->PullSnapshot({.deadline = absl::InfiniteFuture()}, id,
                        result.callback());
    const std::vector<float> now = BitsOf(result.blocks());
    const std::vector<float>& then = bits[id - 1];
    ASSERT_EQ(now.size(), then.size());
    EXPECT_EQ(std::memcmp(now.data(), then.data(), now.size() * sizeof(float)),
              0);
  }
}

}  // namespace
}  // namespace paceline
