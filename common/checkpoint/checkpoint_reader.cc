#include "common/checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/file_store.h"
#include "common/checkpoint/shard_file.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(
    const std::string& folder, std::function<bool()> cancelled) {
  PACELINE_ASSIGN_OR_RETURN(CheckpointManifest manifest, ReadManifest(folder));
  return absl::WrapUnique(
      new CheckpointReader(folder, std::move(manifest), std::move(cancelled)));
}

CheckpointReader::CheckpointReader(std::string folder,
                                   CheckpointManifest manifest,
                                   std::function<bool()> cancelled)
    : folder_(std::move(folder)),
      manifest_(std::move(manifest)),
      cancelled_(std::move(cancelled)),
      blocks_(manifest_.tensors.size()),
      files_(manifest_.files.size()) {
  for (uint32_t i = 0; i < manifest_.tensors.size(); ++i) {
    tensor_by_name_.emplace(manifest_.tensors[i].name, i);
  }
  for (const CheckpointBlock& block : manifest_.blocks) {
    blocks_[block.tensor].push_back(&block);
  }
  for (auto& blocks : blocks_) {
    std::ranges::sort(blocks, {}, &CheckpointBlock::offset);
  }
}

absl::StatusOr<std::vector<CheckpointReader::BlockPiece>>
CheckpointReader::PiecesOf(absl::string_view tensor, uint64_t offset,
                           uint64_t size) const {
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

absl::StatusOr<const SafetensorsReader*> CheckpointReader::FileOf(
    const CheckpointBlock& block) {
  std::optional<SafetensorsReader>& file = files_[block.file];
  if (!file.has_value()) {
    PACELINE_ASSIGN_OR_RETURN(
        file,
        OpenCheckpointFile(folder_, manifest_.files[block.file], cancelled_));
  }
  return &*file;
}

absl::Status CheckpointReader::ReadFloats(const SafetensorsReader& file,
                                          const std::string& name,
                                          const BlockPiece& piece, float* out) {
  PACELINE_ASSIGN_OR_RETURN(
      const SafetensorsTensor* entry,
      FindEntry(file, name, SafetensorsType::kF32, piece.block->size));
  return file.Read(
      *entry, piece.offset * sizeof(float),
      absl::MakeSpan(reinterpret_cast<char*>(out), piece.size * sizeof(float)));
}

absl::StatusOr<SavedBlock> CheckpointReader::ReadBlock(absl::string_view tensor,
                                                       uint64_t offset,
                                                       uint64_t size) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<BlockPiece> pieces,
                            PiecesOf(tensor, offset, size));
  SavedBlock saved;
  saved.weights.resize(size);
  uint64_t at = 0;
  for (const BlockPiece& piece : pieces) {
    if (cancelled_()) return absl::CancelledError("no longer wanted");
    PACELINE_ASSIGN_OR_RETURN(const SafetensorsReader* file,
                              FileOf(*piece.block));
    const uint64_t first = piece.block->offset;
    PACELINE_RETURN_IF_ERROR(ReadFloats(*file, WeightsEntry(tensor, first),
                                        piece, saved.weights.data() + at));
    const TensorKind kind = manifest_.tensors[piece.block->tensor].kind;
    saved.slots.resize(
        kind == TensorKind::kTrained ? manifest_.optimizer_slots.size() : 0);
    for (size_t i = 0; i < saved.slots.size(); ++i) {
      saved.slots[i].resize(size);
      PACELINE_RETURN_IF_ERROR(ReadFloats(
          *file, SlotEntry(tensor, first, manifest_.optimizer_slots[i]), piece,
          saved.slots[i].data() + at));
    }
    PACELINE_ASSIGN_OR_RETURN(const uint64_t steps,
                              ReadSteps(*file, StepsEntry(tensor, first)));
    saved.steps = std::max(saved.steps, steps);
    at += piece.size;
  }
  return saved;
}

absl::Status CheckpointReader::ReadWeights(absl::string_view tensor,
                                           uint64_t offset,
                                           absl::Span<float> out) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<BlockPiece> pieces,
                            PiecesOf(tensor, offset, out.size()));
  for (const BlockPiece& piece : pieces) {
    if (cancelled_()) return absl::CancelledError("no longer wanted");
    PACELINE_ASSIGN_OR_RETURN(const SafetensorsReader* file,
                              FileOf(*piece.block));
    PACELINE_RETURN_IF_ERROR(ReadFloats(
        *file, WeightsEntry(tensor, piece.block->offset), piece, out.data()));
    out.remove_prefix(piece.size);
  }
  return absl::OkStatus();
}

absl::StatusOr<SafetensorsReader> OpenCheckpointFile(
    const std::string& folder, const CheckpointFile& file,
    const std::function<bool()>& cancelled) {
  const std::string path = PathIn(folder, file.name);
  absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenAt(path);
  if (absl::IsNotFound(source.status())) {
    return absl::DataLossError(absl::StrCat(path, " is missing"));
  }
  PACELINE_RETURN_IF_ERROR(source.status());
  auto opened = SafetensorsReader::Open(*std::move(source));
  PACELINE_RETURN_IF_ERROR(opened.status());
  if (opened->file_bytes() != file.bytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", opened->file_bytes(),
                                            " bytes; ", file.bytes,
                                            " were written"));
  }
  PACELINE_ASSIGN_OR_RETURN(const WrittenFile found, opened->Digest(cancelled));
  if (found.sha256 != file.sha256) {
    return absl::DataLossError(
        absl::StrCat(path, " has changed since it was written: its SHA-256 is ",
                     found.sha256, ", not ", file.sha256));
  }
  return opened;
}

absl::StatusOr<const SafetensorsTensor*> FindEntry(
    const SafetensorsReader& file, const std::string& name,
    SafetensorsType type, uint64_t size) {
  const SafetensorsTensor* entry = file.Find(name);
  if (entry == nullptr) {
    return absl::DataLossError(
        absl::StrCat(file.path(), ": \"", name, "\" is missing"));
  }
  if (entry->type != type || entry->shape != std::vector<uint64_t>{size}) {
    return absl::DataLossError(absl::StrCat(file.path(), ": \"", name,
                                            "\" is not ", TypeName(type), " [",
                                            size, "], as the manifest says"));
  }
  return entry;
}

absl::StatusOr<uint64_t> ReadSteps(const SafetensorsReader& file,
                                   const std::string& name) {
  PACELINE_ASSIGN_OR_RETURN(const SafetensorsTensor* entry,
                            FindEntry(file, name, SafetensorsType::kI64, 1));
  int64_t steps = 0;
  PACELINE_RETURN_IF_ERROR(file.Read(
      *entry, 0,
      absl::MakeSpan(reinterpret_cast<char*>(&steps), sizeof(steps))));
  if (steps >= 0) return static_cast<uint64_t>(steps);
  return absl::DataLossError(
      absl::StrCat(file.path(), ": \"", name, "\" is negative"));
}

}  // namespace paceline
