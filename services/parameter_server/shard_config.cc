#include "services/parameter_server/shard_config.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kTensorNameMax = 1024;
constexpr uint32_t kBatchSizeMax = 1u << 24;

absl::Status ValidateBlock(const BlockConfig& block) {
  const std::string name = absl::StrCat("block ", block.id);
  if (block.size == 0 || block.size > kBlockElementsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", block.size, " elements; a block has 1 to ",
                     kBlockElementsMax));
  }
  if (block.tensor.empty() || block.tensor.size() > kTensorNameMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " names its tensor with ", block.tensor.size(),
                     " characters; use 1 to ", kTensorNameMax));
  }
  if (block.offset > std::numeric_limits<uint64_t>::max() - block.size) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ends beyond the largest tensor"));
  }
  const TensorTuning& tuning = block.tuning;
  const double decay = tuning.weight_decay.value_or(0);
  // Written so that it also refuses what is no number.
  if (!(tuning.rate_factor >= 0 && tuning.rate_factor <= kRateMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has the rate factor ", tuning.rate_factor,
                     "; it must be in [0, ", kRateMax, "]"));
  }
  if (!(decay >= 0 && decay <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has the weight decay ", decay, "; it must be in [0, 1]"));
  }
  if (!(tuning.momentum > 0 && tuning.momentum <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has the momentum ", tuning.momentum, "; it must be in (0, 1]"));
  }
  return absl::OkStatus();
}

absl::Status ValidateUniqueIds(const std::vector<BlockConfig>& blocks) {
  absl::flat_hash_set<uint32_t> seen;
  for (const BlockConfig& block : blocks) {
    if (seen.insert(block.id).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block.id, " is given twice"));
  }
  return absl::OkStatus();
}

absl::Status ValidateNoOverlap(const std::vector<BlockConfig>& blocks) {
  std::vector<const BlockConfig*> sorted;
  sorted.reserve(blocks.size());
  for (const BlockConfig& block : blocks) sorted.push_back(&block);
  std::sort(sorted.begin(), sorted.end(),
            [](const BlockConfig* a, const BlockConfig* b) {
              return std::tie(a->tensor, a->offset) <
                     std::tie(b->tensor, b->offset);
            });
  for (size_t i = 1; i < sorted.size(); ++i) {
    const BlockConfig& before = *sorted[i - 1];
    const BlockConfig& block = *sorted[i];
    if (before.tensor != block.tensor ||
        before.offset + before.size <= block.offset) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("blocks ", before.id, " and ", block.id,
                     " overlap in tensor ", block.tensor));
  }
  return absl::OkStatus();
}

absl::Status ValidateTotal(const ShardConfig& config) {
  const uint64_t bytes = StateBytes(config);
  if (bytes <= config.limits.max_state_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the blocks take ", bytes,
                   " bytes with their optimizer state; this "
                   "server holds ",
                   config.limits.max_state_bytes));
}

}  // namespace

uint64_t StateBytes(const ShardConfig& config) {
  const UpdateRule rule(config.optimizer, config.batch_size,
                        config.round_strength);
  uint64_t bytes = 0;  // At most 2^20 * 3 MiB per 2^20 blocks: no overflow.
  for (const BlockConfig& block : config.blocks) {
    const int arrays = 1 + rule.Slots(block.kind);
    bytes += uint64_t{block.size} * sizeof(float) * arrays;
  }
  return bytes;
}

absl::Status ValidateShardConfig(const ShardConfig& config) {
  if (config.blocks.size() > config.limits.max_blocks) {
    return absl::ResourceExhaustedError(
        absl::StrCat(config.blocks.size(), " blocks; this server hosts ",
                     config.limits.max_blocks));
  }
  if (config.batch_size == 0 || config.batch_size > kBatchSizeMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the batch size is ", config.batch_size,
                     "; it must be 1 to ", kBatchSizeMax));
  }
  PACELINE_RETURN_IF_ERROR(ValidateOptimizerSpec(config.optimizer));
  for (const BlockConfig& block : config.blocks) {
    PACELINE_RETURN_IF_ERROR(ValidateBlock(block));
  }
  PACELINE_RETURN_IF_ERROR(ValidateUniqueIds(config.blocks));
  PACELINE_RETURN_IF_ERROR(ValidateNoOverlap(config.blocks));
  return ValidateTotal(config);
}

}  // namespace paceline
