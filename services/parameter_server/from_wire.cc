#include "services/parameter_server/from_wire.h"

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

absl::StatusOr<BlockConfig> ToBlockConfig(const v1::HostJob& host,
                                          const v1::Block& block) {
  if (block.tensor() >= static_cast<uint32_t>(host.tensors_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block.id(), " is of tensor ", block.tensor(),
                     "; the job has ", host.tensors_size()));
  }
  const v1::TensorSpec& tensor = host.tensors(static_cast<int>(block.tensor()));
  if (block.offset() < 0 || block.size() < 1 ||
      block.size() > kBlockElementsMax || block.size() > tensor.size() ||
      block.offset() > tensor.size() - block.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block.id(),
                     " has an impossible offset or size: it must lie within "
                     "its tensor, \"",
                     tensor.name(), "\", and have at most ", kBlockElementsMax,
                     " elements"));
  }
  return BlockConfig{.id = block.id(),
                     .tensor = tensor.name(),
                     .offset = static_cast<uint64_t>(block.offset()),
                     .size = static_cast<uint32_t>(block.size()),
                     .statistic = block.statistic()};
}

}  // namespace

absl::StatusOr<ShardConfig> ToShardConfig(const v1::HostJob& host) {
  ShardConfig config;
  config.blocks.reserve(static_cast<size_t>(host.blocks_size()));
  for (const v1::Block& block : host.blocks()) {
    PACELINE_ASSIGN_OR_RETURN(BlockConfig converted,
                              ToBlockConfig(host, block));
    config.blocks.push_back(std::move(converted));
  }
  PACELINE_ASSIGN_OR_RETURN(config.optimizer,
                            ParseOptimizerSpec(host.job().optimizer()));
  PACELINE_ASSIGN_OR_RETURN(config.round_strength,
                            ParseRoundStrength(host.job().round_strength()));
  config.batch_size = host.job().batch_size();
  return config;
}

}  // namespace paceline
