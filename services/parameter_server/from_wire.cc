#include "services/parameter_server/from_wire.h"

#include "absl/strings/str_cat.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {
namespace {

TensorTuning ToTuning(const OptimizerSpec& optimizer,
                      const v1::TensorSpec& tensor) {
  TensorTuning tuning =
      TuningOf(optimizer, static_cast<size_t>(tensor.shape_size()));
  if (tensor.has_rate_factor()) tuning.rate_factor = tensor.rate_factor();
  if (tensor.has_weight_decay()) tuning.weight_decay = tensor.weight_decay();
  if (tensor.has_momentum()) tuning.momentum = tensor.momentum();
  return tuning;
}

absl::StatusOr<BlockConfig> ToBlockConfig(const v1::HostJob& host,
                                          const OptimizerSpec& optimizer,
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
  const absl::StatusOr<TensorKind> kind = FromWire(block.kind());
  PACELINE_RETURN_IF_ERROR(
      Annotate(kind.status(), absl::StrCat("block ", block.id())));
  return BlockConfig{.id = block.id(),
                     .tensor = tensor.name(),
                     .offset = static_cast<uint64_t>(block.offset()),
                     .size = static_cast<uint32_t>(block.size()),
                     .kind = *kind,
                     .tuning = ToTuning(optimizer, tensor)};
}

}  // namespace

absl::StatusOr<ShardConfig> ToShardConfig(const v1::HostJob& host) {
  ShardConfig config;
  PACELINE_ASSIGN_OR_RETURN(config.optimizer,
                            ParseOptimizerSpec(host.job().optimizer()));
  config.blocks.reserve(static_cast<size_t>(host.blocks_size()));
  for (const v1::Block& block : host.blocks()) {
    PACELINE_ASSIGN_OR_RETURN(BlockConfig converted,
                              ToBlockConfig(host, config.optimizer, block));
    config.blocks.push_back(std::move(converted));
  }
  PACELINE_ASSIGN_OR_RETURN(config.round_strength,
                            ParseRoundStrength(host.job().round_strength()));
  config.batch_size = host.job().batch_size();
  return config;
}

}  // namespace paceline
