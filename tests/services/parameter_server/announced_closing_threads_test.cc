#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {
namespace {

// Workers that go on as soon as their pulls are answered, and a coordinator
// that is late with every closing.
TEST(AnnouncedClosingThreadsTest, RoundsFollowEachOtherExactly) {
  constexpr int64_t kRounds = 100;
  constexpr uint32_t kWorkers = 3;
  constexpr uint32_t kBlocks = 4;
  const auto shard = MakeShard(SmallConfig(kBlocks));
  std::atomic<int64_t> complete = 0;
  std::vector<std::thread> threads;
  for (uint64_t worker = 1; worker <= kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      for (int64_t round = 1; round <= kRounds; ++round) {
        for (uint32_t block = 10; block < 10 + kBlocks; ++block) {
          const auto pushed =
              Push(*shard, RoundPush(worker, round, block, round),
                   static_cast<float>(worker));
          ASSERT_TRUE(pushed.ok()) << pushed.status();
          // From its acknowledgement on the closing may come.
          if (pushed->complete) complete.fetch_add(1);
          shard->DrainAhead(block);
        }
        absl::Notification answered;
        const Puller puller{.owner = worker,
                            .incarnation = worker,
                            .deadline = absl::InfiniteFuture()};
        shard->Pull(puller, round, [&](absl::StatusOr<PulledBlocks> pulled) {
          ASSERT_TRUE(pulled.ok()) << pulled.status();
          for (const float value : Values(*pulled)) {
            EXPECT_EQ(value, static_cast<float>(-round * 6));
          }
          answered.Notify();
        });
        answered.WaitForNotification();
      }
    });
  }
  for (int64_t round = 1; round <= kRounds; ++round) {
    ASSERT_TRUE(shard
                    ->Announce({.closing = round,
                                .round = static_cast<uint64_t>(round),
                                .gradients = kWorkers,
                                .rate = 1})
                    .ok());
    while (complete.load() < round * kWorkers) std::this_thread::yield();
    const auto mean = shard->Close(round, {static_cast<uint64_t>(round)}, 1);
    ASSERT_TRUE(mean.ok() && mean->has_value()) << mean.status();
    EXPECT_DOUBLE_EQ((*mean)->square, kBlocks * kTestBlockSize * 4);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace paceline
