#ifndef PACELINE_TESTS_SERVICES_PARAMETER_SERVER_JOB_SHARD_TESTING_H_
#define PACELINE_TESTS_SERVICES_PARAMETER_SERVER_JOB_SHARD_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "services/parameter_server/job_shard.h"

// What the tests of JobShard share: a small job whose numbers stay exact.

namespace paceline {

// B; a power of two, so that strengths and their quotients are exact.
inline constexpr uint32_t kTestBatch = 4;
inline constexpr uint32_t kTestBlockSize = 5;

// `blocks` blocks of 5 elements with ids 10, 11, ... under plain SGD.
inline ShardConfig SmallConfig(uint32_t blocks,
                               absl::string_view optimizer = "sgd") {
  ShardConfig config;
  for (uint32_t i = 0; i < blocks; ++i) {
    config.blocks.push_back({.id = 10 + i,
                             .tensor = "w",
                             .offset = uint64_t{i} * kTestBlockSize,
                             .size = kTestBlockSize});
  }
  config.optimizer = *ParseOptimizerSpec(optimizer);
  config.batch_size = kTestBatch;
  return config;
}

// A payload of one repeated value, with the bytes it refers to.
class Uniform {
 public:
  explicit Uniform(float value, size_t size = kTestBlockSize)
      : values_(size, value) {}
  Payload payload() const {
    return Payload::OfFloats(values_.data(), values_.size());
  }

 private:
  std::vector<float> values_;
};

inline absl::Status SetAll(JobShard& shard, float value) {
  for (const BlockConfig& block : shard.config().blocks) {
    const absl::Status set = shard.SetBlock(
        block.id, Uniform(value, block.size).payload(), DType::kF32);
    if (!set.ok()) return set;
  }
  return absl::OkStatus();
}

// A shard whose weights are all zero.
inline std::unique_ptr<JobShard> MakeShard(const ShardConfig& config) {
  auto shard = JobShard::Create(config);
  EXPECT_TRUE(shard.ok()) << shard.status();
  EXPECT_TRUE(SetAll(**shard, 0).ok());
  return *std::move(shard);
}

// A push of a whole batch that would subtract its gradient from the weights.
inline PushBlock PlainPush(uint64_t incarnation, int64_t iteration,
                           uint32_t block) {
  return {.incarnation = incarnation,
          .iteration = iteration,
          .block = block,
          .samples = kTestBatch,
          .weight = 1,
          .rate = 1};
}

inline PushBlock RoundPush(uint64_t incarnation, int64_t iteration,
                           uint32_t block, uint64_t round) {
  PushBlock push = PlainPush(incarnation, iteration, block);
  push.rate = 0;
  push.round_plan = true;
  push.round = round;
  return push;
}

inline absl::StatusOr<PushOutcome> Push(JobShard& shard, const PushBlock& push,
                                        float gradient) {
  return shard.Push(push, Uniform(gradient).payload(), DType::kF32);
}

// The same as a server takes it.
inline absl::Status PushAndDrain(JobShard& shard, const PushBlock& push,
                                 float gradient) {
  const absl::Status pushed = Push(shard, push, gradient).status();
  if (pushed.ok()) shard.DrainAhead(push.block);
  return pushed;
}

// What a pull has given, or that it has given nothing yet.
class PullResult {
 public:
  PullResult() : shared_(std::make_shared<Shared>()) {}

  PullCallback callback() const {
    return [shared = shared_](absl::StatusOr<PulledBlocks> result) {
      ++shared->calls;
      shared->result = std::move(result);
    };
  }
  int calls() const { return shared_->calls; }
  absl::Status status() const { return shared_->result.status(); }
  const PulledBlocks& blocks() const { return *shared_->result; }

 private:
  struct Shared {
    int calls = 0;
    absl::StatusOr<PulledBlocks> result = absl::UnknownError("no answer yet");
  };
  std::shared_ptr<Shared> shared_;
};

// All blocks now.
inline PulledBlocks PullNow(JobShard& shard) {
  PullResult result;
  shard.Pull({.incarnation = 0, .deadline = absl::InfiniteFuture()}, 0,
             result.callback());
  EXPECT_EQ(result.calls(), 1);
  EXPECT_TRUE(result.status().ok()) << result.status();
  return result.blocks();
}

// The first element of each block, after checking that the others equal it.
inline std::vector<float> Values(const PulledBlocks& pulled) {
  std::vector<float> values;
  for (const PulledBlock& block : pulled.blocks) {
    values.push_back(block.state->weights()[0]);
    for (size_t i = 1; i < block.state->size(); ++i) {
      EXPECT_EQ(block.state->weights()[i], values.back()) << "a torn block";
    }
  }
  return values;
}

// Whether all blocks have their initial values.
inline bool ValuesAreSet(JobShard& shard) {
  PullResult result;
  shard.Pull({.owner = ~uint64_t{0}, .deadline = absl::InfiniteFuture()}, 0,
             result.callback());
  shard.CancelPulls(~uint64_t{0});
  return result.calls() == 1;
}

inline std::vector<float> ValuesNow(JobShard& shard) {
  return Values(PullNow(shard));
}

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_PARAMETER_SERVER_JOB_SHARD_TESTING_H_
