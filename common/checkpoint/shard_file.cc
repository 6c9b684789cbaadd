#include "common/checkpoint/shard_file.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/file_store.h"
#include "common/safetensors/safetensors_reader.h"
#include "common/status.h"
#include "common/tensor/dtype.h"

namespace paceline {
namespace {

// Arrays are written as they lie in memory.
static_assert(std::endian::native == std::endian::little);

std::vector<SafetensorsTensor> Entries(
    absl::Span<const ShardBlock> blocks,
    absl::Span<const std::string> slot_names) {
  std::vector<SafetensorsTensor> entries;
  entries.reserve(blocks.size() * (2 + slot_names.size()));
  for (const ShardBlock& block : blocks) {
    entries.push_back(
        {StepsEntry(block.tensor, block.offset), SafetensorsType::kI64, {1}});
  }
  for (const ShardBlock& block : blocks) {
    entries.push_back({WeightsEntry(block.tensor, block.offset),
                       SafetensorsType::kF32,
                       {block.size}});
    CHECK(block.slots.empty() || block.slots.size() == slot_names.size());
    for (size_t i = 0; i < block.slots.size(); ++i) {
      entries.push_back({SlotEntry(block.tensor, block.offset, slot_names[i]),
                         SafetensorsType::kF32,
                         {block.size}});
    }
  }
  return entries;
}

absl::Status AppendFloats(const ShardBlock& block, const float* floats,
                          SafetensorsWriter& writer) {
  const absl::string_view bytes = BytesOf({floats, block.size});
  if (!AllFinite(DType::kF32, bytes.data(), block.size)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "tensor \"", block.tensor, "\" has a value that is not finite in the ",
        block.size, " from ", block.offset,
        " on: the training has diverged; go on from an earlier checkpoint, "
        "with a lower learning rate"));
  }
  return writer.Append(bytes);
}

}  // namespace

std::string WeightsEntry(absl::string_view tensor, uint64_t offset) {
  return absl::StrCat(tensor, "/", offset);
}

std::string SlotEntry(absl::string_view tensor, uint64_t offset,
                      absl::string_view slot) {
  return absl::StrCat(tensor, "/", offset, "/", slot);
}

std::string StepsEntry(absl::string_view tensor, uint64_t offset) {
  return SlotEntry(tensor, offset, "steps");
}

absl::StatusOr<WrittenFile> WriteShardFile(
    const std::string& path, absl::Span<const ShardBlock> blocks,
    absl::Span<const std::string> slot_names,
    const std::function<bool()>& cancelled) {
  PACELINE_ASSIGN_OR_RETURN(
      SafetensorsWriter writer,
      SafetensorsWriter::Create(MakerOf(path), {{"format", "paceline-shard"}},
                                Entries(blocks, slot_names)));
  for (const ShardBlock& block : blocks) {
    const int64_t steps = static_cast<int64_t>(block.steps);
    PACELINE_RETURN_IF_ERROR(
        writer.Append({reinterpret_cast<const char*>(&steps), sizeof(steps)}));
  }
  for (const ShardBlock& block : blocks) {
    if (cancelled()) return absl::CancelledError("no longer wanted");
    PACELINE_RETURN_IF_ERROR(AppendFloats(block, block.weights, writer));
    for (const float* slot : block.slots) {
      PACELINE_RETURN_IF_ERROR(AppendFloats(block, slot, writer));
    }
  }
  if (cancelled()) return absl::CancelledError("no longer wanted");
  return writer.Commit();
}

}  // namespace paceline
