#include "common/safetensors/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr absl::string_view kMetadataName = "__metadata__";
constexpr size_t kAlignment = 8;

struct KnownType {
  SafetensorsType type;
  absl::string_view name;
  size_t bytes;
};
using Type = SafetensorsType;
constexpr std::array<KnownType, 15> kTypes = {{
    {Type::kBool, "BOOL", 1},
    {Type::kU8, "U8", 1},
    {Type::kI8, "I8", 1},
    {Type::kF8E5M2, "F8_E5M2", 1},
    {Type::kF8E4M3, "F8_E4M3", 1},
    {Type::kI16, "I16", 2},
    {Type::kU16, "U16", 2},
    {Type::kF16, "F16", 2},
    {Type::kBF16, "BF16", 2},
    {Type::kI32, "I32", 4},
    {Type::kU32, "U32", 4},
    {Type::kF32, "F32", 4},
    {Type::kF64, "F64", 8},
    {Type::kI64, "I64", 8},
    {Type::kU64, "U64", 8},
}};

// Nothing if it does not fit 64 bits.
std::optional<uint64_t> BytesOf(const SafetensorsTensor& tensor) {
  uint64_t bytes = ElementBytes(tensor.type);
  for (const uint64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

// Reads the header as the parser finds it, so that nothing is built of what
// the format does not know. What is wrong is in error().
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Wrong("null"); }
  bool boolean(bool) override { return Wrong("a boolean"); }
  bool number_integer(number_integer_t) override {
    return Wrong("a negative number");
  }
  bool number_float(number_float_t, const string_t&) override {
    return Wrong("a number that is not whole");
  }
  bool binary(binary_t&) override { return Wrong("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kShape) {
      tensor_.shape.push_back(value);
      return true;
    }
    if (place_ == Place::kOffsets && offsets_ < 2) {
      (offsets_ == 0 ? tensor_.begin : tensor_.end) = value;
      ++offsets_;
      return true;
    }
    return Wrong("a number");
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[key_] = value;
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") return Wrong("a string");
    for (const KnownType& known : kTypes) {
      if (known.name != value) continue;
      tensor_.type = known.type;
      return true;
    }
    return Refuse(absl::StrCat("the dtype \"", value, "\" is unknown"));
  }

  bool start_object(size_t) override {
    if (place_ == Place::kBefore) {
      place_ = Place::kTop;
      return true;
    }
    if (place_ != Place::kTop) return Wrong("an object");
    place_ = name_ == kMetadataName ? Place::kMetadata : Place::kTensor;
    keys_.clear();
    offsets_ = 0;
    tensor_ = {};
    tensor_.name = name_;
    return true;
  }

  bool key(string_t& value) override {
    if (place_ == Place::kTop) {
      name_ = value;
      if (!names_.insert(value).second) return Refuse("it is there twice");
      return true;
    }
    key_ = value;
    if (!keys_.insert(value).second) {
      return Refuse(absl::StrCat("\"", value, "\" is there twice"));
    }
    if (place_ == Place::kTensor && value != "dtype" && value != "shape" &&
        value != "data_offsets") {
      return Refuse(absl::StrCat("\"", value, "\" is no part of a tensor"));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      if (keys_.size() != 3 || offsets_ != 2) {
        return Refuse("it needs dtype, shape and two data_offsets");
      }
      header_.tensors.push_back(std::move(tensor_));
    }
    place_ = place_ == Place::kTop ? Place::kAfter : Place::kTop;
    name_.clear();
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") return Wrong("an array");
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }
  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    error_ = absl::StrCat("no JSON at byte ", position);
    return false;
  }

  const std::string& error() const { return error_; }
  SafetensorsHeader& header() { return header_; }

 private:
  enum class Place {
    kBefore,
    kTop,
    kMetadata,
    kTensor,
    kShape,
    kOffsets,
    kAfter,
  };

  bool Refuse(const std::string& why) {
    error_ = name_.empty() ? why : absl::StrCat("\"", name_, "\": ", why);
    return false;
  }
  bool Wrong(absl::string_view what) {
    return Refuse(absl::StrCat(what, " stands where it does not belong"));
  }

  SafetensorsHeader header_;
  std::string error_;
  Place place_ = Place::kBefore;
  std::string name_;  // The tensor's, or __metadata__.
  std::string key_;   // Within it.
  std::set<std::string> names_;
  std::set<std::string> keys_;
  SafetensorsTensor tensor_;
  int offsets_ = 0;  // How many have been read.
};

absl::Status Damaged(const std::string& why) {
  return absl::DataLossError(absl::StrCat("safetensors header: ", why));
}

absl::Status CheckPlacement(const std::vector<SafetensorsTensor>& tensors,
                            uint64_t data_bytes) {
  uint64_t expected = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    const std::string name = absl::StrCat("\"", tensor.name, "\"");
    const std::optional<uint64_t> bytes = BytesOf(tensor);
    if (tensor.begin > tensor.end || !bytes.has_value() ||
        tensor.end - tensor.begin != *bytes) {
      return Damaged(absl::StrCat(name, " lies at [", tensor.begin, ", ",
                                  tensor.end, "), which is not the size of ",
                                  TypeName(tensor.type), " [",
                                  absl::StrJoin(tensor.shape, ", "), "]"));
    }
    if (tensor.begin != expected) {
      return Damaged(absl::StrCat(
          name, " begins at ", tensor.begin, ", where ", expected,
          tensor.begin < expected ? " is expected: tensors overlap"
                                  : " is expected: there is a hole"));
    }
    expected = tensor.end;
  }
  if (expected == data_bytes) return absl::OkStatus();
  return Damaged(absl::StrCat(
      "its tensors take ", expected, " bytes, the file", " has ", data_bytes,
      ": ",
      expected > data_bytes ? "it has been cut off" : "something is appended"));
}

// `text` as a JSON string.
absl::StatusOr<std::string> Quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    return absl::InvalidArgumentError(
        "safetensors: a name or metadata value is not UTF-8");
  }
}

absl::StatusOr<std::string> FormatMetadata(
    const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : metadata) {
    PACELINE_ASSIGN_OR_RETURN(const std::string name, Quoted(key));
    PACELINE_ASSIGN_OR_RETURN(const std::string text, Quoted(value));
    pairs.push_back(absl::StrCat(name, ":", text));
  }
  return absl::StrCat("\"", kMetadataName, "\":{", absl::StrJoin(pairs, ","),
                      "}");
}

// Sets the offsets.
absl::Status Place(absl::Span<SafetensorsTensor> tensors) {
  std::set<absl::string_view> names = {kMetadataName};
  uint64_t end = 0;
  for (SafetensorsTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "safetensors: \"", tensor.name, "\" is named twice or reserved"));
    }
    const std::optional<uint64_t> bytes = BytesOf(tensor);
    tensor.begin = end;
    if (!bytes.has_value() || __builtin_add_overflow(end, *bytes, &end)) {
      return absl::InvalidArgumentError(
          absl::StrCat("safetensors: \"", tensor.name, "\" is too large"));
    }
    tensor.end = end;
  }
  return absl::OkStatus();
}

}  // namespace

size_t ElementBytes(SafetensorsType type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}

absl::string_view TypeName(SafetensorsType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

absl::StatusOr<uint64_t> ParseHeaderSize(absl::string_view prefix,
                                         uint64_t file_bytes) {
  uint64_t size = 0;
  for (size_t i = kSafetensorsPrefix; i-- > 0;) {
    size = size << 8 | static_cast<unsigned char>(prefix[i]);
  }
  if (size > kSafetensorsHeaderMax) {
    return Damaged(absl::StrCat("it would have ", size, " bytes; at most ",
                                kSafetensorsHeaderMax, " are allowed"));
  }
  if (file_bytes < kSafetensorsPrefix ||
      size > file_bytes - kSafetensorsPrefix) {
    return Damaged(absl::StrCat("it would have ", size,
                                " bytes, more than the file: it has been cut "
                                "off"));
  }
  return size;
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         uint64_t data_bytes) {
  if (json.empty() || json.front() != '{') {
    return Damaged("it does not begin with {");
  }
  HeaderEvents events;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &events)) {
    return Damaged(events.error());
  }
  SafetensorsHeader header = std::move(events.header());
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
              return std::tie(a.begin, a.end, a.name) <
                     std::tie(b.begin, b.end, b.name);
            });
  PACELINE_RETURN_IF_ERROR(CheckPlacement(header.tensors, data_bytes));
  return header;
}

absl::StatusOr<std::string> FormatSafetensorsHeader(
    const std::map<std::string, std::string>& metadata,
    absl::Span<SafetensorsTensor> tensors) {
  PACELINE_RETURN_IF_ERROR(Place(tensors));
  std::vector<std::string> fields;
  fields.reserve(tensors.size() + 1);
  if (!metadata.empty()) {
    PACELINE_ASSIGN_OR_RETURN(fields.emplace_back(), FormatMetadata(metadata));
  }
  for (const SafetensorsTensor& tensor : tensors) {
    PACELINE_ASSIGN_OR_RETURN(const std::string name, Quoted(tensor.name));
    fields.push_back(absl::StrCat(
        name, ":{\"dtype\":\"", TypeName(tensor.type), "\",\"shape\":[",
        absl::StrJoin(tensor.shape, ","), "],\"data_offsets\":[", tensor.begin,
        ",", tensor.end, "]}"));
  }
  std::string json = absl::StrCat("{", absl::StrJoin(fields, ","), "}");
  json.resize((json.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (json.size() > kSafetensorsHeaderMax) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "safetensors: ", tensors.size(), " tensors need a header of ",
        json.size(), " bytes; the format allows ", kSafetensorsHeaderMax,
        ": use more servers or larger tensors"));
  }
  std::string prefix(kSafetensorsPrefix, '\0');
  for (size_t i = 0; i < kSafetensorsPrefix; ++i) {
    prefix[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  }
  return prefix + json;
}

}  // namespace paceline
