// What must hold in a manifest.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bounded_json.h"
#include "common/checkpoint/manifest.h"
#include "common/safetensors/sha256.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kNameMax = 1024;
// A terabyte of fp32.
constexpr uint64_t kTensorElementsMax = uint64_t{1} << 38;

absl::Status Wrong(const std::string& field, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", why));
}

std::string Element(absl::string_view array, size_t i) {
  return absl::StrCat(array, "[", i, "]");
}

absl::Status CheckName(const std::string& field, const std::string& name) {
  if (!name.empty() && name.size() <= kNameMax) return absl::OkStatus();
  return Wrong(field, absl::StrCat("has ", name.size(), " characters; 1 to ",
                                   kNameMax, " are possible"));
}

absl::Status CheckNumbers(const CheckpointManifest& manifest) {
  if (!(manifest.seconds >= 0) || !std::isfinite(manifest.seconds)) {
    return Wrong("seconds", "is no time");
  }
  if (manifest.version < 0) return Wrong("version", "is negative");
  if (manifest.version_at_completion < manifest.version) {
    return Wrong("version_at_completion", "is before version");
  }
  if (manifest.samples < 0) return Wrong("samples", "is negative");
  if (manifest.create_time == absl::InfiniteFuture() ||
      manifest.create_time == absl::InfinitePast()) {
    return Wrong("create_time", "is no time");
  }
  return absl::OkStatus();
}

absl::Status CheckObject(const std::string& field, const std::string& json) {
  if (ParseBoundedJson(json).is_object()) return absl::OkStatus();
  return Wrong(field, "is not a JSON object");
}

absl::Status CheckSlots(const std::vector<std::string>& slots) {
  std::set<std::string> seen = {"steps"};  // Beside them in a shard's file.
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::string field = Element("optimizer_slots", i);
    PACELINE_RETURN_IF_ERROR(CheckName(field, slots[i]));
    const bool is_word =
        std::all_of(slots[i].begin(), slots[i].end(),
                    [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
    if (!is_word) return Wrong(field, "is not made of the letters a to z");
    if (!seen.insert(slots[i]).second) return Wrong(field, "is taken");
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(const std::vector<CheckpointTensor>& tensors) {
  std::set<absl::string_view> seen;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string field = Element("tensors", i);
    PACELINE_RETURN_IF_ERROR(CheckName(field + ".name", tensors[i].name));
    if (!seen.insert(tensors[i].name).second) {
      return Wrong(field + ".name", "is another tensor's too");
    }
    uint64_t size = 1;
    for (const int64_t extent : tensors[i].shape) {
      // The bound on the product of those before keeps this from overflowing.
      if (extent < 1 ||
          static_cast<uint64_t>(extent) > kTensorElementsMax / size) {
        return Wrong(field + ".shape", "is impossible");
      }
      size *= static_cast<uint64_t>(extent);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFiles(const std::vector<CheckpointFile>& files) {
  std::set<absl::string_view> seen;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string field = Element("files", i);
    PACELINE_RETURN_IF_ERROR(
        Annotate(CheckFileName(files[i].name), field + ".name"));
    if (!seen.insert(files[i].name).second) {
      return Wrong(field + ".name", "is another file's too");
    }
    if (!IsHexDigest(files[i].sha256)) {
      return Wrong(field + ".sha256", "is not 64 hexadecimal digits");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckIndices(const CheckpointManifest& manifest) {
  std::set<uint32_t> ids;
  for (size_t i = 0; i < manifest.blocks.size(); ++i) {
    const CheckpointBlock& block = manifest.blocks[i];
    const std::string field = Element("blocks", i);
    if (block.tensor >= manifest.tensors.size()) {
      return Wrong(field + ".tensor", "is not the index of a tensor");
    }
    if (block.file >= manifest.files.size()) {
      return Wrong(field + ".file", "is not the index of a file");
    }
    const uint64_t size = TensorSize(manifest.tensors[block.tensor]);
    if (block.size < 1 || block.size > size ||
        block.offset > size - block.size) {
      return Wrong(field, "does not lie within its tensor");
    }
    if (!ids.insert(block.id).second) {
      return Wrong(field + ".id", "is another block's too");
    }
  }
  return absl::OkStatus();
}

// Sorted, the blocks follow each other without overlap or gap.
absl::Status CheckCoverage(const CheckpointManifest& manifest) {
  std::vector<const CheckpointBlock*> sorted;
  sorted.reserve(manifest.blocks.size());
  for (const CheckpointBlock& block : manifest.blocks) {
    sorted.push_back(&block);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const CheckpointBlock* a, const CheckpointBlock* b) {
              return std::tie(a->tensor, a->offset) <
                     std::tie(b->tensor, b->offset);
            });
  size_t next = 0;
  for (uint32_t i = 0; i < manifest.tensors.size(); ++i) {
    uint64_t covered = 0;
    for (; next < sorted.size() && sorted[next]->tensor == i; ++next) {
      if (sorted[next]->offset != covered) break;
      covered += sorted[next]->size;
    }
    if (covered == TensorSize(manifest.tensors[i])) continue;
    return Wrong("blocks", absl::StrCat("do not cover the tensor \"",
                                        manifest.tensors[i].name,
                                        "\" exactly: at element ", covered));
  }
  if (next == sorted.size()) return absl::OkStatus();
  return Wrong("blocks", absl::StrCat("overlap at block ", sorted[next]->id));
}

}  // namespace

absl::Status CheckManifest(const CheckpointManifest& manifest) {
  PACELINE_RETURN_IF_ERROR(CheckNumbers(manifest));
  PACELINE_RETURN_IF_ERROR(CheckObject("spec", manifest.spec_json));
  PACELINE_RETURN_IF_ERROR(CheckObject("position", manifest.position_json));
  PACELINE_RETURN_IF_ERROR(CheckSlots(manifest.optimizer_slots));
  PACELINE_RETURN_IF_ERROR(CheckTensors(manifest.tensors));
  PACELINE_RETURN_IF_ERROR(CheckFiles(manifest.files));
  PACELINE_RETURN_IF_ERROR(CheckIndices(manifest));
  return CheckCoverage(manifest);
}

}  // namespace paceline
