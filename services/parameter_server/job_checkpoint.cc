#include "services/parameter_server/job_checkpoint.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/shard_file.h"
#include "common/job/optimizer_spec.h"
#include "common/status.h"

namespace paceline {
namespace {

std::shared_ptr<BlockState> ToState(const SavedBlock& saved) {
  auto state = std::make_shared<BlockState>(
      saved.weights.size(), static_cast<int>(saved.slots.size()));
  std::copy(saved.weights.begin(), saved.weights.end(), state->weights());
  for (size_t i = 0; i < saved.slots.size(); ++i) {
    std::copy(saved.slots[i].begin(), saved.slots[i].end(),
              state->slot(static_cast<int>(i)));
  }
  state->set_steps(saved.steps);
  return state;
}

absl::Status CheckOptimizer(const CheckpointManifest& manifest,
                            const OptimizerSpec& optimizer) {
  const std::vector<std::string> wanted = OptimizerSlotNames(optimizer);
  if (wanted == manifest.optimizer_slots) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint was saved with another optimizer: it has [",
                   absl::StrJoin(manifest.optimizer_slots, ", "),
                   "] beside the weights, ", FormatOptimizerSpec(optimizer),
                   " needs [", absl::StrJoin(wanted, ", "), "]"));
}

}  // namespace

absl::StatusOr<WrittenFile> WriteSnapshot(
    const ShardConfig& config, const PulledBlocks& snapshot,
    const std::string& path, const std::function<bool()>& cancelled) {
  CHECK(snapshot.blocks.size() == config.blocks.size());
  std::vector<ShardBlock> blocks;
  blocks.reserve(config.blocks.size());
  for (size_t i = 0; i < config.blocks.size(); ++i) {
    const BlockState& state = *snapshot.blocks[i].state;
    ShardBlock& block = blocks.emplace_back();
    block.tensor = config.blocks[i].tensor;
    block.offset = config.blocks[i].offset;
    block.size = state.size();
    block.steps = state.steps();
    block.weights = state.weights();
    for (int k = 0; k < state.slots(); ++k) {
      block.slots.push_back(state.slot(k));
    }
  }
  return WriteShardFile(path, blocks, OptimizerSlotNames(config.optimizer),
                        cancelled);
}

absl::Status RestoreJob(JobShard& job, const std::string& folder,
                        const std::function<bool()>& cancelled) {
  PACELINE_ASSIGN_OR_RETURN(const auto reader,
                            CheckpointReader::Open(folder, cancelled));
  PACELINE_RETURN_IF_ERROR(
      CheckOptimizer(reader->manifest(), job.config().optimizer));
  for (const BlockConfig& block : job.config().blocks) {
    absl::StatusOr<SavedBlock> saved =
        reader->ReadBlock(block.tensor, block.offset, block.size);
    if (absl::IsNotFound(saved.status())) {
      return absl::FailedPreconditionError(saved.status().message());
    }
    PACELINE_RETURN_IF_ERROR(saved.status());
    PACELINE_RETURN_IF_ERROR(job.RestoreBlock(block.id, ToState(*saved)));
  }
  return absl::OkStatus();
}

absl::Status SetInitialWeights(JobShard& job, const std::string& folder,
                               const std::function<bool()>& cancelled) {
  PACELINE_ASSIGN_OR_RETURN(const auto reader,
                            CheckpointReader::Open(folder, cancelled));
  std::vector<float> weights;
  for (const BlockConfig& block : job.config().blocks) {
    weights.resize(block.size);
    const absl::Status read = reader->ReadWeights(block.tensor, block.offset,
                                                  absl::MakeSpan(weights));
    if (absl::IsNotFound(read)) {
      return absl::FailedPreconditionError(read.message());
    }
    PACELINE_RETURN_IF_ERROR(read);
    PACELINE_RETURN_IF_ERROR(job.SetBlock(
        block.id, Payload::OfFloats(weights.data(), weights.size()),
        DType::kF32));
  }
  return absl::OkStatus();
}

}  // namespace paceline
