#include "common/checkpoint/export_checkpoint.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/checkpoint/checkpoint_reader.h"
#include "common/safetensors/safetensors_writer.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr uint64_t kExportChunk = uint64_t{1} << 18;  // Elements.

}  // namespace

absl::StatusOr<WrittenFile> ExportCheckpoint(const std::string& folder,
                                             const std::string& out_file) {
  PACELINE_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(folder));
  const auto& tensors = reader->manifest().tensors;
  std::vector<SafetensorsTensor> entries;
  entries.reserve(tensors.size());
  for (const CheckpointTensor& tensor : tensors) {
    entries.push_back({tensor.name,
                       SafetensorsType::kF32,
                       {tensor.shape.begin(), tensor.shape.end()}});
  }
  PACELINE_ASSIGN_OR_RETURN(
      SafetensorsWriter writer,
      SafetensorsWriter::Create(out_file, {}, std::move(entries)));
  std::vector<float> chunk;
  for (const CheckpointTensor& tensor : tensors) {
    const uint64_t size = TensorSize(tensor);
    for (uint64_t at = 0; at < size; at += kExportChunk) {
      chunk.resize(std::min(kExportChunk, size - at));
      PACELINE_RETURN_IF_ERROR(
          reader->ReadWeights(tensor.name, at, absl::MakeSpan(chunk)));
      PACELINE_RETURN_IF_ERROR(
          writer.Append({reinterpret_cast<const char*>(chunk.data()),
                         chunk.size() * sizeof(float)}));
    }
  }
  return writer.Commit();
}

}  // namespace paceline
