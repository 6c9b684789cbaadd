#ifndef PACELINE_SERVICES_PARAMETER_SERVER_SHARD_CONFIG_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_SHARD_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/job/optimizer_spec.h"
#include "common/round_limit.h"
#include "services/parameter_server/update_rule.h"

namespace paceline {

// The largest block: 1 MiB of fp32.
inline constexpr uint32_t kBlockElementsMax = 1u << 18;

// A block that this server hosts.
struct BlockConfig {
  uint32_t id = 0;  // Unique in the job; need not be dense.
  std::string tensor;
  uint64_t offset = 0;  // Where the first element lies within the tensor.
  uint32_t size = 0;    // In elements, at most kBlockElementsMax.
  TensorKind kind = TensorKind::kTrained;
  TensorTuning tuning = {};

  friend bool operator==(const BlockConfig&, const BlockConfig&) = default;
};

// What a peer can make a server hold at most; beyond, RESOURCE_EXHAUSTED.
struct ShardLimits {
  size_t max_blocks = size_t{1} << 20;
  // Weights and optimizer state of all hosted blocks. A server sets its own.
  uint64_t max_state_bytes = uint64_t{64} << 30;
  size_t max_open_rounds = kMaxOpenRounds;
  size_t max_parked_pulls = 4096;
  // Incarnations that have pushed and were not fenced.
  size_t max_incarnations = 4096;
  size_t max_snapshots = 4096;
};

// One job as one server sees it.
struct ShardConfig {
  std::vector<BlockConfig> blocks;  // May be none: few blocks, many servers.
  OptimizerSpec optimizer;
  uint32_t batch_size = 0;  // B, samples per push.
  RoundStrength round_strength = RoundStrength::kLinear;
  ShardLimits limits;
  // Workers of this machine may read the weights where they lie.
  bool shares_weights = false;
  bool backup = false;  // It gets its contents from the shard's primary.
  // Streams of earlier epochs know nothing of it: it has been rebuilt, and the
  // fences that held in the one before are gone.
  uint64_t least_epoch = 0;
};

// What the weights and optimizer state of its blocks take.
// REQUIRES: a valid config.
uint64_t StateBytes(const ShardConfig& config);

// INVALID_ARGUMENT for what is malformed: a size of zero or above 1 MiB, an id
// given twice, blocks of one tensor that overlap, an unnamed tensor, no batch
// size, an optimizer or a tensor's tuning out of range. RESOURCE_EXHAUSTED for
// what exceeds `limits`.
absl::Status ValidateShardConfig(const ShardConfig& config);

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_SHARD_CONFIG_H_
