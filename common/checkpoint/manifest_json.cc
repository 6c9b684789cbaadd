// The manifest as JSON.

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bounded_json.h"
#include "common/checkpoint/manifest.h"
#include "common/status.h"

namespace paceline {
namespace {

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

  // The text of an object.
  void ReadObject(const char* key, std::string& out) {
    const Json* field = Find(key);
    if (field == nullptr) return;
    if (!field->is_object()) return Fail(key, "is not an object");
    out = field->dump();
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
  out["optimizer_slots"] = manifest.optimizer_slots;
  auto& tensors = out["tensors"] = nlohmann::ordered_json::array();
  for (const CheckpointTensor& tensor : manifest.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"statistic", tensor.statistic}});
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
  fields.Read("optimizer_slots", manifest.optimizer_slots);
  fields.Read("tensors", manifest.tensors,
              [](Fields& element, CheckpointTensor& tensor) {
                element.Read("name", tensor.name);
                element.Read("shape", tensor.shape);
                element.Read("statistic", tensor.statistic);
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
