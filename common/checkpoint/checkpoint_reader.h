#ifndef PACELINE_COMMON_CHECKPOINT_CHECKPOINT_READER_H_
#define PACELINE_COMMON_CHECKPOINT_CHECKPOINT_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/checkpoint/manifest.h"
#include "common/safetensors/safetensors_reader.h"

namespace paceline {

// What is saved of a run of one tensor's elements.
struct SavedBlock {
  std::vector<float> weights;
  std::vector<std::vector<float>> slots;  // As the manifest names them.
  uint64_t steps = 0;
};

// Reads any run of elements out of a checkpoint, whatever blocks and files it
// was saved in: so it can be restored onto any number of servers. A file is
// opened, and its digest compared, when something of it is first needed.
// Thread-compatible.
class CheckpointReader {
 public:
  // Errors as ReadManifest(). `cancelled` is called now and then while files
  // are read; once it gives true, what runs ends with CANCELLED.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(
      const std::string& folder,
      std::function<bool()> cancelled = [] { return false; });

  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  const CheckpointManifest& manifest() const { return manifest_; }

  // Elements [offset, offset + size) of a tensor. Where they were saved in
  // several blocks, the steps are the most that any of them has: with pushes
  // refused, or in flight when the snapshot was taken, blocks may differ by a
  // few, and for Adam's t, whose corrections only fade, more is the safe side.
  // NOT_FOUND: the checkpoint has no such tensor. FAILED_PRECONDITION: not so
  // many elements. DATA_LOSS: a file is not what was written.
  absl::StatusOr<SavedBlock> ReadBlock(absl::string_view tensor,
                                       uint64_t offset, uint64_t size);

  // Fills `out` with weights alone, from `offset` on.
  absl::Status ReadWeights(absl::string_view tensor, uint64_t offset,
                           absl::Span<float> out);

 private:
  CheckpointReader(std::string folder, CheckpointManifest manifest,
                   std::function<bool()> cancelled);

  // A run of elements that lies in one saved block.
  struct BlockPiece {
    const CheckpointBlock* block = nullptr;
    uint64_t offset = 0;  // Where the first element lies within the block.
    uint64_t size = 0;    // In elements.
  };

  // The pieces, in order, of elements [offset, offset + size) of a tensor.
  absl::StatusOr<std::vector<BlockPiece>> PiecesOf(absl::string_view tensor,
                                                   uint64_t offset,
                                                   uint64_t size) const;
  absl::StatusOr<const SafetensorsReader*> FileOf(const CheckpointBlock& block);
  // One array of a piece; `name` is its entry.
  absl::Status ReadFloats(const SafetensorsReader& file,
                          const std::string& name, const BlockPiece& piece,
                          float* out);

  const std::string folder_;
  const CheckpointManifest manifest_;
  const std::function<bool()> cancelled_;
  // Both refer to the manifest.
  absl::flat_hash_map<absl::string_view, uint32_t> tensor_by_name_;
  std::vector<std::vector<const CheckpointBlock*>> blocks_;  // By tensor.
  std::vector<std::optional<SafetensorsReader>> files_;      // By index.
};

// Opens one file of a checkpoint and compares its size and digest. DATA_LOSS if
// it is missing or is not what was written; CANCELLED.
absl::StatusOr<SafetensorsReader> OpenCheckpointFile(
    const std::string& folder, const CheckpointFile& file,
    const std::function<bool()>& cancelled);

// The entry of a block's array. DATA_LOSS unless it is there with that type and
// so many elements.
absl::StatusOr<const SafetensorsTensor*> FindEntry(
    const SafetensorsReader& file, const std::string& name,
    SafetensorsType type, uint64_t size);

// The number in the entry StepsEntry(). DATA_LOSS as FindEntry(), and if it is
// negative.
absl::StatusOr<uint64_t> ReadSteps(const SafetensorsReader& file,
                                   const std::string& name);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_CHECKPOINT_READER_H_
