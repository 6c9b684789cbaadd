#include "common/checkpoint/checkpoint_tools.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/file_store.h"
#include "common/checkpoint/shard_file.h"
#include "common/safetensors/safetensors_reader.h"
#include "common/status.h"
#include "common/tensor/dtype.h"

namespace paceline {
namespace {

constexpr size_t kVerifyChunk = size_t{1} << 20;

// Compares one file with the manifest and notes what is wrong.
class FileVerifier {
 public:
  FileVerifier(const SafetensorsReader& file, CheckpointReport* report)
      : file_(file), report_(report) {}

  void VerifyBlock(const CheckpointBlock& block) {
    const CheckpointTensor& tensor = report_->manifest.tensors[block.tensor];
    VerifyFloats(WeightsEntry(tensor.name, block.offset), block.size);
    if (tensor.kind == TensorKind::kTrained) {
      for (const std::string& slot : report_->manifest.optimizer_slots) {
        VerifyFloats(SlotEntry(tensor.name, block.offset, slot), block.size);
      }
    }
    VerifySteps(StepsEntry(tensor.name, block.offset));
  }

  // What is left is none of the manifest's.
  void VerifyNoOthers() {
    for (const SafetensorsTensor& entry : file_.header().tensors) {
      if (expected_.contains(entry.name)) continue;
      Note(absl::StrCat(file_.path(), ": \"", entry.name,
                        "\" is in no block of the manifest"));
    }
  }

 private:
  void Note(std::string problem) {
    report_->problems.push_back(std::move(problem));
  }

  void VerifyFloats(const std::string& name, uint64_t size) {
    expected_.insert(name);
    const auto found = FindEntry(file_, name, SafetensorsType::kF32, size);
    if (!found.ok()) return Note(std::string(found.status().message()));
    const SafetensorsTensor& entry = **found;
    const uint64_t bytes = entry.end - entry.begin;
    for (uint64_t at = 0; at < bytes; at += kVerifyChunk) {
      chunk_.resize(std::min<uint64_t>(kVerifyChunk, bytes - at));
      const absl::Status read =
          file_.Read(entry, at, absl::MakeSpan(chunk_.data(), chunk_.size()));
      if (!read.ok()) return Note(std::string(read.message()));
      if (!AllFinite(DType::kF32, chunk_.data(),
                     chunk_.size() / sizeof(float))) {
        return Note(absl::StrCat(file_.path(), ": \"", name,
                                 "\" has a value that is not finite"));
      }
    }
  }

  void VerifySteps(const std::string& name) {
    expected_.insert(name);
    const absl::Status read = ReadSteps(file_, name).status();
    if (!read.ok()) Note(std::string(read.message()));
  }

  const SafetensorsReader& file_;
  CheckpointReport* const report_;
  std::set<std::string> expected_;
  std::string chunk_;
};

void VerifyFile(const std::string& folder, uint32_t index,
                CheckpointReport& report) {
  const CheckpointFile& named = report.manifest.files[index];
  const std::string path = PathIn(folder, named.name);
  const auto never = [] { return false; };
  auto file = OpenCheckpointFile(folder, named, never);
  if (!file.ok()) {
    report.problems.emplace_back(file.status().message());
    // Damaged, but perhaps its header still says what else is wrong.
    auto source = OpenAt(path);
    if (!source.ok()) return;
    file = SafetensorsReader::Open(*std::move(source));
    if (!file.ok()) return;
  }
  report.bytes += file->file_bytes();
  FileVerifier verifier(*file, &report);
  for (const CheckpointBlock& block : report.manifest.blocks) {
    if (block.file == index) verifier.VerifyBlock(block);
  }
  verifier.VerifyNoOthers();
}

constexpr uint64_t kExportChunk = uint64_t{1} << 18;  // Elements.

}  // namespace

absl::StatusOr<CheckpointReport> VerifyCheckpoint(const std::string& folder) {
  CheckpointReport report;
  PACELINE_ASSIGN_OR_RETURN(report.manifest, ReadManifest(folder));
  for (uint32_t i = 0; i < report.manifest.files.size(); ++i) {
    VerifyFile(folder, i, report);
  }
  return report;
}

absl::StatusOr<WrittenFile> ExportCheckpoint(
    const std::string& folder, const std::string& out_file,
    const std::map<std::string, std::string>& metadata) {
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
      SafetensorsWriter::Create(MakerOf(out_file), metadata,
                                std::move(entries)));
  std::vector<float> chunk;
  for (const CheckpointTensor& tensor : tensors) {
    const uint64_t size = TensorSize(tensor);
    for (uint64_t at = 0; at < size; at += kExportChunk) {
      chunk.resize(std::min(kExportChunk, size - at));
      PACELINE_RETURN_IF_ERROR(
          reader->ReadWeights(tensor.name, at, absl::MakeSpan(chunk)));
      PACELINE_RETURN_IF_ERROR(writer.Append(BytesOf(chunk)));
    }
  }
  return writer.Commit();
}

}  // namespace paceline
