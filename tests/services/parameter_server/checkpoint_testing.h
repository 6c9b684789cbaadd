#ifndef PACELINE_TESTS_SERVICES_PARAMETER_SERVER_CHECKPOINT_TESTING_H_
#define PACELINE_TESTS_SERVICES_PARAMETER_SERVER_CHECKPOINT_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/manifest.h"
#include "common/rng.h"
#include "services/parameter_server/job_checkpoint.h"
#include "services/parameter_server/job_shard.h"

// A small model on several servers, trained, saved and restored: what a
// coordinator does with its parameter servers, without the wire.

namespace paceline {

inline bool NeverCancelled() { return false; }

// Two tensors that are optimized, one of them cut, and a statistic.
inline std::vector<CheckpointTensor> TestTensors() {
  return {
      {.name = "conv/weight", .shape = {3, 7}, .kind = TensorKind::kTrained},
      {.name = "norm", .shape = {5}, .kind = TensorKind::kStatistic},
      {.name = "fc", .shape = {10, 10}, .kind = TensorKind::kTrained}};
}

// The model cut into blocks of at most `block_size` and dealt out to `servers`
// in turn.
class ServerFleet {
 public:
  ServerFleet(size_t servers, uint64_t block_size,
              const std::string& optimizer) {
    std::vector<ShardConfig> configs(servers);
    uint32_t id = 0;
    const std::vector<CheckpointTensor> tensors = TestTensors();
    for (uint32_t t = 0; t < tensors.size(); ++t) {
      const uint64_t size = TensorSize(tensors[t]);
      for (uint64_t at = 0; at < size; at += block_size, ++id) {
        const uint64_t now = std::min(block_size, size - at);
        const auto server = static_cast<uint32_t>(id % servers);
        configs[server].blocks.push_back({.id = id,
                                          .tensor = tensors[t].name,
                                          .offset = at,
                                          .size = static_cast<uint32_t>(now),
                                          .kind = tensors[t].kind});
        blocks_.push_back({id, t, at, now, server});
      }
    }
    for (ShardConfig& config : configs) {
      config.optimizer = *ParseOptimizerSpec(optimizer);
      config.batch_size = 4;
      shards_.push_back(*JobShard::Create(config));
    }
  }

  // Weights that depend on their place alone.
  void Initialize() {
    for (const CheckpointBlock& block : blocks_) {
      const std::vector<float> values = Draw(block, /*seed=*/99);
      ASSERT_TRUE(shards_[block.file]
                      ->SetBlock(block.id,
                                 Payload::OfFloats(values.data(), block.size),
                                 DType::kF32)
                      .ok());
    }
  }

  // One push of gradients that depend on their place and `seed` alone, by an
  // incarnation of its own.
  void PushAll(uint64_t seed) {
    for (const CheckpointBlock& block : blocks_) {
      const std::vector<float> gradient = Draw(block, seed);
      const auto taken = shards_[block.file]->Push(
          {.incarnation = seed,
           .iteration = 1,
           .block = block.id,
           .samples = 4,
           .weight = 1,
           .rate = 0.1},
          Payload::OfFloats(gradient.data(), block.size), DType::kF32);
      ASSERT_TRUE(taken.ok()) << taken.status();
    }
  }

  absl::Status Save(const std::string& folder) {
    CheckpointManifest manifest;
    manifest.job = "namespaces/default/jobs/test";
    manifest.optimizer_slots =
        OptimizerSlotNames(shards_[0]->config().optimizer);
    manifest.tensors = TestTensors();
    manifest.blocks = blocks_;
    std::filesystem::create_directories(folder);
    for (size_t i = 0; i < shards_.size(); ++i) {
      JobShard& shard = *shards_[i];
      const auto blocks = shard.TakeBlocks();
      EXPECT_TRUE(blocks.ok()) << blocks.status();
      const std::string file = ShardFileName(i, shards_.size());
      const auto written =
          WriteSnapshot(shard.config(), *blocks,
                        absl::StrCat(folder, "/", file), NeverCancelled);
      if (!written.ok()) return written.status();
      manifest.files.push_back({file, written->bytes, written->sha256});
    }
    return WriteManifest(folder, manifest);
  }

  absl::Status Restore(const std::string& folder) {
    for (const auto& shard : shards_) {
      const absl::Status status = RestoreJob(*shard, folder, NeverCancelled);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // All weights and slots, whole, by tensor and array; and the steps.
  struct Everything {
    std::map<std::string, std::vector<float>> floats;
    std::map<std::string, uint64_t> steps;  // The most of any of its blocks.
    friend bool operator==(const Everything&, const Everything&) = default;
  };
  Everything Read() {
    Everything all;
    for (const CheckpointBlock& block : blocks_) {
      const std::string name = TestTensors()[block.tensor].name;
      const BlockState& state = *StateOf(block);
      for (int k = -1; k < state.slots(); ++k) {
        const float* from = k < 0 ? state.weights() : state.slot(k);
        auto& to = all.floats[absl::StrCat(name, " ", k)];
        to.insert(to.end(), from, from + state.size());
      }
      all.steps[name] = std::max(all.steps[name], state.steps());
    }
    return all;
  }

  JobShard& shard(size_t i) { return *shards_[i]; }
  const std::vector<CheckpointBlock>& blocks() const { return blocks_; }

 private:
  static std::vector<float> Draw(const CheckpointBlock& block, uint64_t seed) {
    std::vector<float> values;
    for (uint64_t i = 0; i < block.size; ++i) {
      Rng rng(DeriveSeed(seed, block.tensor * 1000 + block.offset + i));
      values.push_back(static_cast<float>(rng.Unit() * 2 - 1));
    }
    return values;
  }

  std::shared_ptr<const BlockState> StateOf(const CheckpointBlock& block) {
    std::shared_ptr<const BlockState> state;
    shards_[block.file]->Pull({.deadline = absl::InfiniteFuture()}, 0,
                              [&](absl::StatusOr<PulledBlocks> pulled) {
                                EXPECT_TRUE(pulled.ok()) << pulled.status();
                                for (const PulledBlock& one : pulled->blocks) {
                                  if (one.id == block.id) state = one.state;
                                }
                              });
    return state;
  }

  std::vector<CheckpointBlock> blocks_;  // Those of shard i are in file i.
  std::vector<std::unique_ptr<JobShard>> shards_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_PARAMETER_SERVER_CHECKPOINT_TESTING_H_
