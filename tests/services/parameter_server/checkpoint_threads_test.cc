#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/manifest.h"
#include "services/parameter_server/job_checkpoint.h"
#include "tests/services/parameter_server/job_shard_testing.h"
#include "tests/services/worker/data/scratch_folder.h"

// Checkpoints are written while pushes go on.

namespace paceline {
namespace {

constexpr uint32_t kSavedBlocks = 8;
constexpr int kSavedPushers = 4;

CheckpointManifest ManifestOf(const ShardConfig& config) {
  CheckpointManifest manifest;
  manifest.optimizer_slots = OptimizerSlotNames(config.optimizer);
  manifest.tensors = {{.name = "w",
                       .shape = {int64_t{kSavedBlocks} * kTestBlockSize},
                       .kind = TensorKind::kTrained}};
  for (const BlockConfig& block : config.blocks) {
    manifest.blocks.push_back({block.id, 0, block.offset, block.size, 0});
  }
  return manifest;
}

// With gradients of one, no decay and a rate of one, a block's weights say how
// many updates they have seen: that must be its steps, and the momentum of
// 0.5 must be that of as many updates.
void ExpectWhole(const SavedBlock& block, uint64_t least) {
  EXPECT_GE(block.steps, least);
  float weight = 0;
  float momentum = 0;
  for (uint64_t i = 0; i < block.steps; ++i) {
    momentum = 0.5f * momentum + 1;
    weight -= momentum;
  }
  for (uint32_t i = 0; i < kTestBlockSize; ++i) {
    ASSERT_EQ(block.weights[i], weight);
    ASSERT_EQ(block.slots[0][i], momentum);
  }
}

TEST(CheckpointThreadsTest, EachFileIsWholeWhilePushesGoOn) {
  const ScratchFolder scratch;
  const auto shard = MakeShard(SmallConfig(kSavedBlocks, "sgd:momentum=0.5"));
  std::atomic<int64_t> pushed = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> pushers;
  for (int p = 1; p <= kSavedPushers; ++p) {
    pushers.emplace_back([&, p] {
      for (int64_t i = 1; !done.load(); ++i) {
        for (uint32_t b = 0; b < kSavedBlocks; ++b) {
          ASSERT_TRUE(Push(*shard, PlainPush(p, i, 10 + b), 1).ok());
        }
        pushed.fetch_add(1);
      }
    });
  }
  CheckpointManifest manifest = ManifestOf(shard->config());
  for (uint64_t id = 1; id <= 20; ++id) {
    const int64_t before = pushed.load();
    const auto blocks = shard->TakeBlocks();
    ASSERT_TRUE(blocks.ok()) << blocks.status();
    const std::string name = absl::StrCat("server-", id, "-of-1.safetensors");
    const auto written = WriteSnapshot(shard->config(), *blocks,
                                       absl::StrCat(scratch.path(), "/", name),
                                       [] { return false; });
    ASSERT_TRUE(written.ok()) << written.status();
    manifest.files = {{name, written->bytes, written->sha256}};
    ASSERT_TRUE(WriteManifest(scratch.path(), manifest).ok());
    const auto reader = CheckpointReader::Open(scratch.path());
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (uint32_t b = 0; b < kSavedBlocks; ++b) {
      const auto block = (*reader)->ReadBlock("w", uint64_t{b} * kTestBlockSize,
                                              kTestBlockSize);
      ASSERT_TRUE(block.ok()) << block.status();
      ExpectWhole(*block, static_cast<uint64_t>(before));
    }
  }
  done.store(true);
  for (std::thread& pusher : pushers) pusher.join();
}

}  // namespace
}  // namespace paceline
