#ifndef PACELINE_COMMON_CHECKPOINT_SHARD_FILE_H_
#define PACELINE_COMMON_CHECKPOINT_SHARD_FILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/safetensors/byte_stream.h"

namespace paceline {

// The file of one server: a safetensors file with these entries for each block,
// TENSOR its tensor's name and OFFSET its first element's index:
//   TENSOR/OFFSET/steps  I64 [1]    updates applied to it; Adam's t
//   TENSOR/OFFSET        F32 [size] weights
//   TENSOR/OFFSET/SLOT   F32 [size] one for each array of the optimizer
// The 8-byte entries come first, so that everything is aligned. A name that
// ends in a number is weights, and no slot is a number: names are unambiguous.

// One block as it lies in memory.
struct ShardBlock {
  absl::string_view tensor;
  uint64_t offset = 0;
  uint64_t size = 0;  // In elements.
  uint64_t steps = 0;
  const float* weights = nullptr;
  std::vector<const float*> slots;  // None unless it is trained.
};

std::string StepsEntry(absl::string_view tensor, uint64_t offset);
std::string WeightsEntry(absl::string_view tensor, uint64_t offset);
std::string SlotEntry(absl::string_view tensor, uint64_t offset,
                      absl::string_view slot);

// Writes the file from the memory that the blocks refer to; it is there whole
// or not at all. FAILED_PRECONDITION: a value is not finite, so the training
// has diverged, and this would only push better checkpoints out. CANCELLED:
// `cancelled`, which is called now and then, gave true. Otherwise as
// SafetensorsWriter.
// REQUIRES: the slots of a block are none or as many as `slot_names`.
absl::StatusOr<WrittenFile> WriteShardFile(
    const std::string& path, absl::Span<const ShardBlock> blocks,
    absl::Span<const std::string> slot_names,
    const std::function<bool()>& cancelled);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_SHARD_FILE_H_
