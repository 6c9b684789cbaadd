#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common/rng.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// A backup is filled and follows while many threads push and rounds are closed.

namespace paceline {
namespace {

constexpr uint32_t kReplicaBlocks = 8;
constexpr uint64_t kReplicaPushers = 4;
constexpr int64_t kReplicaIterations = 60;

// As the sender does: takes, has it replayed, acknowledges.
class Follower {
 public:
  Follower(JobShard* primary, JobShard* backup)
      : primary_(primary), backup_(backup) {}
  ~Follower() { thread_.join(); }

  void Begin() {
    following_ = *primary_->Replicate(1, /*hold=*/false, [] {});
    thread_ = std::thread([this] { Run(); });
  }
  bool complete() const { return complete_; }
  void EndOnceAllIsTaken() { ending_ = true; }

 private:
  void Run() {
    uint64_t entries = 0;
    bool filling = true;
    uint32_t filled = 0;  // Blocks.
    while (true) {
      const bool last = ending_;
      const auto entry = primary_->log().Take(following_);
      if (filling && !entry.has_value()) {
        filling = primary_->FillFurther(following_, filled++);
        continue;
      }
      if (!entry.has_value()) {
        if (last) return;
        std::this_thread::yield();
        continue;
      }
      ASSERT_TRUE(backup_->Replay(entry->entry).ok());
      ++entries;
      if (!entry->acknowledge) continue;
      const auto complete = primary_->log().Acknowledged(following_, entries);
      ASSERT_TRUE(complete.ok()) << complete.status();
      if (*complete) complete_ = true;
    }
  }

  JobShard* const primary_;
  JobShard* const backup_;
  uint64_t following_ = 0;
  std::atomic<bool> complete_ = false;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

// Half of the pushes for the open round, half at once.
void PushAll(JobShard& shard, uint64_t seed, uint64_t incarnation,
             const std::atomic<uint64_t>& round,
             std::atomic<int64_t>& acknowledged) {
  Rng rng(seed * kReplicaPushers + incarnation);
  for (int64_t i = 1; i <= kReplicaIterations; ++i) {
    const bool immediate = rng.Chance(1, 2);
    for (uint32_t b = 0; b < kReplicaBlocks; ++b) {
      PushBlock push = immediate
                           ? PlainPush(incarnation, i, 10 + b)
                           : RoundPush(incarnation, i, 10 + b, round.load());
      if (immediate) push.rate = 0.01;
      ASSERT_TRUE(Push(shard, push, static_cast<float>(rng.Unit())).ok());
    }
    shard.log().WhenHeld([&acknowledged] { ++acknowledged; });
  }
}

void ExpectSameBits(JobShard& one, JobShard& other) {
  const PulledBlocks ours = PullNow(one);
  const PulledBlocks theirs = PullNow(other);
  for (uint32_t b = 0; b < kReplicaBlocks; ++b) {
    EXPECT_EQ(ours.blocks[b].state->steps(), theirs.blocks[b].state->steps());
    for (size_t i = 0; i < kTestBlockSize; ++i) {
      EXPECT_EQ(ours.blocks[b].state->weights()[i],
                theirs.blocks[b].state->weights()[i]);
      EXPECT_EQ(ours.blocks[b].state->slot(0)[i],
                theirs.blocks[b].state->slot(0)[i]);
    }
  }
}

TEST(ReplicaThreadsTest, TheBackupHasTheBitsOfThePrimary) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    ShardConfig config = SmallConfig(kReplicaBlocks, "sgd:momentum=0.9");
    const auto primary = MakeShard(config);
    config.backup = true;
    const auto backup = *JobShard::Create(config);
    ASSERT_TRUE(backup->BeginReplay([](const absl::Status&) {}).ok());
    std::atomic<int64_t> acknowledged = 0;
    std::atomic<uint64_t> round = 1;
    std::vector<std::thread> pushers;
    for (uint64_t incarnation = 1; incarnation <= kReplicaPushers;
         ++incarnation) {
      pushers.emplace_back([&, incarnation] {
        PushAll(*primary, seed, incarnation, round, acknowledged);
      });
    }
    Follower follower(primary.get(), backup.get());
    std::thread closer([&] {
      for (int64_t closing = 1; closing <= 40; ++closing) {
        const uint64_t closed = round++;
        ASSERT_TRUE(primary->Close(closing, {closed}, 0.01).ok());
        // Commands come one at a time.
        if (closing == 10) follower.Begin();
        primary->LogCommand({.sequence = static_cast<uint64_t>(closing + 1),
                             .what = ClosingDone{closing}});
      }
    });
    closer.join();
    for (std::thread& pusher : pushers) pusher.join();
    while (acknowledged.load() <
           static_cast<int64_t>(kReplicaPushers) * kReplicaIterations) {
      std::this_thread::yield();
    }
    // What is in the log of those that nobody waits for.
    while (!follower.complete() || primary->log().lag() > 0) {
      primary->log().WhenHeld([] {});
      std::this_thread::yield();
      if (::testing::Test::HasFatalFailure()) return;
    }
    follower.EndOnceAllIsTaken();
    ASSERT_TRUE(backup->BecomePrimary().ok());
    ExpectSameBits(*primary, *backup);
  }
}

}  // namespace
}  // namespace paceline
