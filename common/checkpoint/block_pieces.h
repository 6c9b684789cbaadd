#ifndef PACELINE_COMMON_CHECKPOINT_BLOCK_PIECES_H_
#define PACELINE_COMMON_CHECKPOINT_BLOCK_PIECES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/manifest.h"

namespace paceline {

// A run of elements that lies in one saved block.
struct BlockPiece {
  const CheckpointBlock* block = nullptr;
  uint64_t offset = 0;  // Of the first element, within the block.
  uint64_t size = 0;    // In elements.
};

// Which saved blocks hold which elements. Thread-safe.
class BlockPieces {
 public:
  // `manifest` is valid and outlives this.
  explicit BlockPieces(const CheckpointManifest& manifest);

  // The pieces, in order, of elements [offset, offset + size) of a tensor.
  // NOT_FOUND: the checkpoint has no such tensor. FAILED_PRECONDITION: not so
  // many elements.
  absl::StatusOr<std::vector<BlockPiece>> Of(absl::string_view tensor,
                                             uint64_t offset,
                                             uint64_t size) const;

 private:
  const CheckpointManifest& manifest_;
  absl::flat_hash_map<absl::string_view, uint32_t> tensor_by_name_;
  std::vector<std::vector<const CheckpointBlock*>> blocks_;  // By tensor.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_BLOCK_PIECES_H_
