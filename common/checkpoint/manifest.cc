#include "common/checkpoint/manifest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/bounded_json.h"
#include "common/checkpoint/file_store.h"
#include "common/safetensors/byte_stream.h"
#include "common/safetensors/sha256.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kFileNameMax = 200;  // Leaves room for ".tmp-...".
// A million blocks take a quarter of it.
constexpr uint64_t kManifestBytesMax = uint64_t{512} << 20;

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
  std::ranges::sort(sorted, {}, [](const CheckpointBlock* block) {
    return std::pair(block->tensor, block->offset);
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

using Json = nlohmann::json;

constexpr absl::string_view kFormat = "paceline-checkpoint";

std::string TimeText(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
}

// The typed fields of one JSON object. The first fault stays; what is read
// after it means nothing.
class Fields {
 public:
  Fields(const Json& object, std::string path, absl::Status* fault)
      : object_(object), path_(std::move(path)), fault_(fault) {
    if (!object.is_object()) Fail("", "is not an object");
  }

  void Read(const char* key, std::string& out) {
    const Json* field = Find(key);
    if (field == nullptr) return;
    if (!field->is_string()) return Fail(key, "is not a text");
    out = field->get<std::string>();
  }

  void Read(const char* key, bool& out) {
    const Json* field = Find(key);
    if (field == nullptr) return;
    if (!field->is_boolean()) return Fail(key, "is neither true nor false");
    out = field->get<bool>();
  }

  void Read(const char* key, double& out) {
    const Json* field = Find(key);
    if (field == nullptr) return;
    if (!field->is_number()) return Fail(key, "is not a number");
    out = field->get<double>();
  }

  // A whole number that fits.
  template <class Integer>
  requires std::is_integral_v<Integer>
  void Read(const char* key, Integer& out) {
    const Json* field = Find(key);
    if (field != nullptr) ReadInteger(*field, key, out);
  }

  void Read(const char* key, absl::Time& out) {
    std::string text;
    Read(key, text);
    std::string ignored;
    if (fault_->ok() &&
        !absl::ParseTime(absl::RFC3339_full, text, &out, &ignored)) {
      Fail(key, "is not a time like 2026-01-31T12:00:00Z");
    }
  }

  // Leaves `out` alone where it is missing.
  void ReadIfThere(const char* key, TensorKind& out) {
    if (!fault_->ok() || !object_.contains(key)) return;
    std::string name;
    Read(key, name);
    const std::optional<TensorKind> kind = TensorKindOf(name);
    if (!kind.has_value()) return Fail(key, "is no kind of a tensor");
    out = *kind;
  }

  // The text of an object.
  void ReadObject(const char* key, std::string& out) {
    const Json* field = Find(key);
    if (field == nullptr) return;
    if (!field->is_object()) return Fail(key, "is not an object");
    out = field->dump();
  }

  // The same of what earlier versions did not write.
  void ReadObjectIfThere(const char* key, std::string& out) {
    if (fault_->ok() && object_.contains(key)) ReadObject(key, out);
  }

  void Read(const char* key, std::vector<int64_t>& out) {
    for (const Json& value : Array(key)) {
      ReadInteger(value, key, out.emplace_back());
    }
  }

  void Read(const char* key, std::vector<std::string>& out) {
    for (const Json& value : Array(key)) {
      if (!value.is_string()) return Fail(key, "has what is not a text");
      out.push_back(value.get<std::string>());
    }
  }

  // Calls read(fields, element) for each object of an array.
  template <class Element, class ReadElement>
  void Read(const char* key, std::vector<Element>& out, ReadElement read) {
    const Json& array = Array(key);
    out.reserve(array.size());
    for (size_t i = 0; i < array.size() && fault_->ok(); ++i) {
      Fields fields(array[i], absl::StrCat(path_, key, "[", i, "]."), fault_);
      read(fields, out.emplace_back());
    }
  }

 private:
  void Fail(absl::string_view key, absl::string_view why) {
    if (!fault_->ok()) return;
    *fault_ = absl::DataLossError(absl::StrCat(
        path_, key, key.empty() && path_.empty() ? "it " : " ", why));
  }

  // Null, and a fault, if it is missing.
  const Json* Find(const char* key) {
    if (!fault_->ok()) return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    Fail(key, "is missing");
    return nullptr;
  }

  template <class Integer>
  void ReadInteger(const Json& value, const char* key, Integer& out) {
    constexpr auto kMost =
        static_cast<uint64_t>(std::numeric_limits<Integer>::max());
    // A number that is not negative is unsigned to the parser.
    if (value.is_number_unsigned() && value.get<uint64_t>() <= kMost) {
      out = static_cast<Integer>(value.get<uint64_t>());
    } else {
      Fail(key, "is not a whole number in range");
    }
  }

  // An empty one, and a fault, if there is none.
  const Json& Array(const char* key) {
    static const Json* const empty = new Json(Json::array());
    const Json* field = Find(key);
    if (field == nullptr) return *empty;
    if (field->is_array()) return *field;
    Fail(key, "is not an array");
    return *empty;
  }

  const Json& object_;
  const std::string path_;
  absl::Status* const fault_;
};

absl::Status CheckFormat(const Json& document) {
  absl::Status fault;
  Fields fields(document, "", &fault);
  std::string format;
  int version = 0;
  fields.Read("format", format);
  fields.Read("format_version", version);
  PACELINE_RETURN_IF_ERROR(fault);
  if (format != kFormat) {
    return absl::DataLossError(absl::StrCat("format is not \"", kFormat, "\""));
  }
  if (version < 1) return absl::DataLossError("format_version is not above 0");
  if (version > kManifestVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint has format version ", version, "; this program knows ",
        kManifestVersion, ": use a newer paceline"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ShardFileName(size_t server, size_t servers) {
  return absl::StrCat("server-", server, "-of-", servers, ".safetensors");
}

uint64_t TensorSize(const CheckpointTensor& tensor) {
  uint64_t size = 1;
  for (const int64_t extent : tensor.shape) {
    size *= static_cast<uint64_t>(extent);
  }
  return size;
}

absl::Status CheckFileName(absl::string_view name) {
  const bool plain =
      !name.empty() && name.size() <= kFileNameMax && name.front() != '.' &&
      absl::EndsWith(name, ".safetensors") &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
               absl::StrContains("-_.", c);
      });
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a checkpoint's file needs a plain name of letters, digits, - and _, "
      "such as \"server-0-of-1.safetensors\", without a folder");
}

absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& folder) {
  const std::string path = PathIn(folder, kManifestName);
  const auto text = ReadWholeFileAt(path, kManifestBytesMax);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        folder, " is no complete checkpoint: it has no ", kManifestName));
  }
  PACELINE_RETURN_IF_ERROR(text.status());
  return Annotate(ParseManifest(*text), path);
}

absl::Status WriteManifest(const std::string& folder,
                           const CheckpointManifest& manifest) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text, FormatManifest(manifest));
  for (const CheckpointFile& file : manifest.files) {
    const auto opened = OpenAt(PathIn(folder, file.name));
    if (opened.ok() && (*opened)->size() == file.bytes) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint ", folder, " is not whole: ",
        opened.ok() ? absl::StrCat(file.name, " has ", (*opened)->size(),
                                   " bytes, not ", file.bytes)
                    : std::string(opened.status().message())));
  }
  PACELINE_ASSIGN_OR_RETURN(
      const std::unique_ptr<ByteSink> file,
      CreateAt(PathIn(folder, kManifestName), text.size()));
  PACELINE_RETURN_IF_ERROR(file->Write(text));
  return file->Commit().status();
}

absl::Status CheckManifest(const CheckpointManifest& manifest) {
  PACELINE_RETURN_IF_ERROR(CheckNumbers(manifest));
  PACELINE_RETURN_IF_ERROR(CheckObject("spec", manifest.spec_json));
  PACELINE_RETURN_IF_ERROR(CheckObject("position", manifest.position_json));
  PACELINE_RETURN_IF_ERROR(CheckObject("evaluation", manifest.evaluation_json));
  PACELINE_RETURN_IF_ERROR(CheckSlots(manifest.optimizer_slots));
  PACELINE_RETURN_IF_ERROR(CheckTensors(manifest.tensors));
  PACELINE_RETURN_IF_ERROR(CheckFiles(manifest.files));
  PACELINE_RETURN_IF_ERROR(CheckIndices(manifest));
  return CheckCoverage(manifest);
}

absl::StatusOr<std::string> FormatManifest(const CheckpointManifest& manifest) {
  PACELINE_RETURN_IF_ERROR(CheckManifest(manifest));
  nlohmann::ordered_json out;
  out["format"] = std::string(kFormat);
  out["format_version"] = kManifestVersion;
  out["paceline_version"] = manifest.paceline_version;
  out["job"] = manifest.job;
  out["spec"] = nlohmann::ordered_json::parse(manifest.spec_json);
  out["create_time"] = TimeText(manifest.create_time);
  out["seconds"] = manifest.seconds;
  out["version"] = manifest.version;
  out["version_at_completion"] = manifest.version_at_completion;
  out["samples"] = manifest.samples;
  out["exact"] = manifest.exact;
  out["position"] = nlohmann::ordered_json::parse(manifest.position_json);
  out["evaluation"] = nlohmann::ordered_json::parse(manifest.evaluation_json);
  out["optimizer_slots"] = manifest.optimizer_slots;
  auto& tensors = out["tensors"] = nlohmann::ordered_json::array();
  for (const CheckpointTensor& tensor : manifest.tensors) {
    // Older programs know two kinds, and that a statistic has no slots.
    nlohmann::ordered_json& out_tensor =
        tensors.emplace_back(nlohmann::ordered_json{
            {"name", tensor.name},
            {"shape", tensor.shape},
            {"statistic", tensor.kind != TensorKind::kTrained}});
    if (tensor.kind > TensorKind::kStatistic) {
      out_tensor["kind"] = TensorKindName(tensor.kind);
    }
  }
  auto& blocks = out["blocks"] = nlohmann::ordered_json::array();
  for (const CheckpointBlock& block : manifest.blocks) {
    blocks.push_back({{"id", block.id},
                      {"tensor", block.tensor},
                      {"offset", block.offset},
                      {"size", block.size},
                      {"file", block.file}});
  }
  auto& files = out["files"] = nlohmann::ordered_json::array();
  for (const CheckpointFile& file : manifest.files) {
    files.push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  try {
    return out.dump(1) + "\n";
  } catch (const nlohmann::json::type_error&) {
    return absl::InvalidArgumentError(
        "a name in the checkpoint's manifest is not UTF-8");
  }
}

absl::StatusOr<CheckpointManifest> ParseManifest(absl::string_view json) {
  const Json document = ParseBoundedJson(json);
  if (document.is_discarded()) {
    return absl::DataLossError("it is not JSON: damaged or cut off");
  }
  PACELINE_RETURN_IF_ERROR(CheckFormat(document));
  absl::Status fault;
  CheckpointManifest manifest;
  Fields fields(document, "", &fault);
  fields.Read("paceline_version", manifest.paceline_version);
  fields.Read("job", manifest.job);
  fields.ReadObject("spec", manifest.spec_json);
  fields.Read("create_time", manifest.create_time);
  fields.Read("seconds", manifest.seconds);
  fields.Read("version", manifest.version);
  fields.Read("version_at_completion", manifest.version_at_completion);
  fields.Read("samples", manifest.samples);
  fields.Read("exact", manifest.exact);
  fields.ReadObject("position", manifest.position_json);
  fields.ReadObjectIfThere("evaluation", manifest.evaluation_json);
  fields.Read("optimizer_slots", manifest.optimizer_slots);
  fields.Read("tensors", manifest.tensors,
              [](Fields& element, CheckpointTensor& tensor) {
                element.Read("name", tensor.name);
                element.Read("shape", tensor.shape);
                bool statistic = false;
                element.Read("statistic", statistic);
                tensor.kind =
                    statistic ? TensorKind::kStatistic : TensorKind::kTrained;
                element.ReadIfThere("kind", tensor.kind);
              });
  fields.Read("blocks", manifest.blocks,
              [](Fields& element, CheckpointBlock& block) {
                element.Read("id", block.id);
                element.Read("tensor", block.tensor);
                element.Read("offset", block.offset);
                element.Read("size", block.size);
                element.Read("file", block.file);
              });
  fields.Read("files", manifest.files,
              [](Fields& element, CheckpointFile& file) {
                element.Read("name", file.name);
                element.Read("bytes", file.bytes);
                element.Read("sha256", file.sha256);
              });
  PACELINE_RETURN_IF_ERROR(fault);
  const absl::Status sound = CheckManifest(manifest);
  if (!sound.ok()) return absl::DataLossError(sound.message());
  return manifest;
}

}  // namespace paceline
