#include "common/checkpoint/block_pieces.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace paceline {

BlockPieces::BlockPieces(const CheckpointManifest& manifest)
    : manifest_(manifest), blocks_(manifest.tensors.size()) {
  for (uint32_t i = 0; i < manifest.tensors.size(); ++i) {
    tensor_by_name_.emplace(manifest.tensors[i].name, i);
  }
  for (const CheckpointBlock& block : manifest.blocks) {
    blocks_[block.tensor].push_back(&block);
  }
  for (auto& blocks : blocks_) {
    std::sort(blocks.begin(), blocks.end(),
              [](const CheckpointBlock* a, const CheckpointBlock* b) {
                return a->offset < b->offset;
              });
  }
}

absl::StatusOr<std::vector<BlockPiece>> BlockPieces::Of(
    absl::string_view tensor, uint64_t offset, uint64_t size) const {
  const auto found = tensor_by_name_.find(tensor);
  if (found == tensor_by_name_.end()) {
    return absl::NotFoundError(absl::StrCat("the checkpoint has no tensor \"",
                                            tensor,
                                            "\": it is of another model"));
  }
  const uint64_t whole = TensorSize(manifest_.tensors[found->second]);
  if (offset > whole || size > whole - offset) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint's tensor \"", tensor, "\" has ", whole,
        " elements, not ", offset + size, ": it is of another model"));
  }
  const auto& blocks = blocks_[found->second];
  // The first that ends behind `offset`.
  auto block = std::partition_point(blocks.begin(), blocks.end(),
                                    [offset](const CheckpointBlock* b) {
                                      return b->offset + b->size <= offset;
                                    });
  std::vector<BlockPiece> pieces;
  for (uint64_t at = offset; at < offset + size; ++block) {
    const uint64_t begin = at - (*block)->offset;
    const uint64_t now = std::min((*block)->size - begin, offset + size - at);
    pieces.push_back({*block, begin, now});
    at += now;
  }
  return pieces;
}

}  // namespace paceline
