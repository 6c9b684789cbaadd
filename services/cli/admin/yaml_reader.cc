#include "services/cli/admin/yaml_reader.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/field_checks.h"
#include "common/job/duration.h"
#include "google/protobuf/util/json_util.h"
#include "protos/google/api/field_behavior.pb.h"
#include "services/cli/near_word.h"

namespace paceline {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kNodesMax = 10'000;

bool IsMessage(const FieldDescriptor& field, absl::string_view full_name) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type()->full_name() == full_name;
}

// Messages whose JSON is a string.
bool IsTextMessage(const FieldDescriptor& field) {
  return IsMessage(field, "google.protobuf.Duration") ||
         IsMessage(field, "google.protobuf.Timestamp") ||
         IsMessage(field, "google.protobuf.FieldMask");
}

std::string EnumNames(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(type.value(i)->name());
  }
  return absl::StrJoin(names, ", ");
}

template <class Integer>
Json ReadInteger(const std::string& text) {
  Integer value = 0;
  return absl::SimpleAtoi(text, &value) ? Json(value) : Json();
}

Json ReadBool(const std::string& text) {
  if (absl::EqualsIgnoreCase(text, "true")) return true;
  if (absl::EqualsIgnoreCase(text, "false")) return false;
  return Json();
}

Json ReadNumber(const std::string& text) {
  double value = 0;
  const bool read = absl::SimpleAtod(text, &value) && std::isfinite(value);
  return read ? Json(value) : Json();
}

Json ReadEnum(const std::string& text,
              const google::protobuf::EnumDescriptor& type) {
  for (int i = 0; i < type.value_count(); ++i) {
    if (absl::EqualsIgnoreCase(type.value(i)->name(), text)) {
      return type.value(i)->name();
    }
  }
  return Json();
}

Json ReadDuration(const std::string& text) {
  constexpr absl::Duration kMost = absl::Hours(24 * 365 * 100);
  const auto duration = ParseDuration("", text, -kMost, kMost);
  if (!duration.ok()) return Json();
  // Proto JSON knows seconds alone.
  const int64_t nanos = absl::ToInt64Nanoseconds(*duration);
  std::string fraction = absl::StrCat(std::llabs(nanos % 1'000'000'000));
  fraction.insert(0, 9 - fraction.size(), '0');
  return absl::StrCat(nanos < 0 ? "-" : "", std::llabs(nanos / 1'000'000'000),
                      ".", fraction, "s");
}

// What a value of the field looks like.
std::string Expected(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return "a whole number that is not negative";
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
      return "a whole number";
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("one of ", EnumNames(*field.enum_type()));
    default:
      return IsMessage(field, "google.protobuf.Duration")
                 ? "a duration such as 30s, 5m or 1.5h"
                 : "a text";
  }
}

Json ReadText(const std::string& text, const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return ReadInteger<uint32_t>(text);
    case FieldDescriptor::CPPTYPE_UINT64:
      return ReadInteger<uint64_t>(text);
    case FieldDescriptor::CPPTYPE_INT32:
      return ReadInteger<int32_t>(text);
    case FieldDescriptor::CPPTYPE_INT64:
      return ReadInteger<int64_t>(text);
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return ReadNumber(text);
    case FieldDescriptor::CPPTYPE_BOOL:
      return ReadBool(text);
    case FieldDescriptor::CPPTYPE_ENUM:
      return ReadEnum(text, *field.enum_type());
    case FieldDescriptor::CPPTYPE_STRING:
      return text;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return IsMessage(field, "google.protobuf.Duration") ? ReadDuration(text)
                                                          : Json(text);
  }
  return Json();
}

}  // namespace

Json YamlReader::ReadMessage(const YAML::Node& node, const Descriptor& type,
                             const std::string& path) {
  Json json = Json::object();
  if (!node.IsMap()) {
    Refuse(node, path, "must have fields, as NAME: VALUE");
    return json;
  }
  std::set<const FieldDescriptor*> seen;
  for (const auto& entry : node) {
    const std::string name =
        entry.first.IsScalar() ? entry.first.Scalar() : std::string("?");
    const std::string below = FieldPath(path, name);
    if (!Count(entry.first, below)) break;
    const FieldDescriptor* field = FindProtoField(type, name);
    if (field == nullptr) {
      Refuse(entry.first, below, NoSuchField(type, name));
    } else if (!seen.insert(field).second) {
      Refuse(entry.first, below, "is given twice");
    } else if (!entry.second.IsNull()) {
      Json value = ReadField(entry.second, *field, below);
      if (!value.is_null()) json[field->json_name()] = std::move(value);
    }
  }
  return json;
}

Json YamlReader::ReadField(const YAML::Node& node, const FieldDescriptor& field,
                           const std::string& path) {
  if (field.is_map()) return ReadMap(node, field, path);
  if (field.is_repeated()) return ReadList(node, field, path);
  return ReadSingle(node, field, path);
}

Json YamlReader::ReadSingle(const YAML::Node& node,
                            const FieldDescriptor& field,
                            const std::string& path) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
      !IsTextMessage(field)) {
    return ReadMessage(node, *field.message_type(), path);
  }
  return ReadScalar(node, field, path);
}

Json YamlReader::ReadList(const YAML::Node& node, const FieldDescriptor& field,
                          const std::string& path) {
  if (!node.IsSequence()) {
    Refuse(node, path, "must be a list, as [A, B]");
    return Json();
  }
  Json json = Json::array();
  for (const YAML::Node& element : node) {
    const std::string at = absl::StrCat(path, "[", json.size(), "]");
    if (!Count(element, at)) break;
    json.push_back(ReadSingle(element, field, at));
  }
  return json;
}

Json YamlReader::ReadMap(const YAML::Node& node, const FieldDescriptor& field,
                         const std::string& path) {
  if (!node.IsMap()) {
    Refuse(node, path, "must have entries, as KEY: VALUE");
    return Json();
  }
  const FieldDescriptor& value_field = *field.message_type()->map_value();
  Json json = Json::object();
  for (const auto& entry : node) {
    const std::string key =
        entry.first.IsScalar() ? entry.first.Scalar() : std::string("?");
    const std::string below = FieldPath(path, key);
    if (!Count(entry.first, below)) break;
    if (json.contains(key)) {
      Refuse(entry.first, below, "is given twice");
    } else {
      json[key] = ReadSingle(entry.second, value_field, below);
    }
  }
  return json;
}

Json YamlReader::ReadScalar(const YAML::Node& node,
                            const FieldDescriptor& field,
                            const std::string& path) {
  if (!node.IsScalar()) {
    Refuse(node, path, absl::StrCat("must be ", Expected(field)));
    return Json();
  }
  Json value = ReadText(node.Scalar(), field);
  if (value.is_null()) {
    Refuse(node, path,
           absl::StrCat("\"", node.Scalar(), "\" is not ", Expected(field)));
  }
  return value;
}

void YamlReader::Refuse(const YAML::Node& node, const std::string& path,
                        std::string what) {
  const int line = node.Mark().line + 1;
  const std::string field =
      line < 1 ? path
               : absl::StrCat("line ", line, path.empty() ? "" : ": ", path);
  violations_.push_back({.field = field, .description = std::move(what)});
}

bool YamlReader::Count(const YAML::Node& node, const std::string& path) {
  if (nodes_ > kNodesMax) return false;
  if (++nodes_ <= kNodesMax) return true;
  Refuse(node, path,
         absl::StrCat("there are more than ", kNodesMax, " values"));
  return false;
}

const FieldDescriptor* FindProtoField(const Descriptor& type,
                                      absl::string_view name) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->name() == name || field->json_name() == name) return field;
  }
  return nullptr;
}

bool IsOutputOnly(const google::protobuf::FieldDescriptor& field) {
  const auto& options = field.options();
  for (int i = 0; i < options.ExtensionSize(google::api::field_behavior); ++i) {
    if (options.GetExtension(google::api::field_behavior, i) ==
        google::api::OUTPUT_ONLY) {
      return true;
    }
  }
  return false;
}

std::string NoSuchField(const Descriptor& type, absl::string_view name) {
  std::vector<std::string> names;
  std::vector<std::string> spellings;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (IsOutputOnly(*field)) continue;  // Nobody means to set it.
    names.push_back(field->name());
    spellings.push_back(field->name());
    spellings.push_back(field->json_name());
  }
  const std::string near = NearWord(name, spellings);
  if (!near.empty()) {
    return absl::StrCat("there is no such field; did you mean ",
                        FindProtoField(type, near)->name(), "?");
  }
  return absl::StrCat("there is no such field; there are ",
                      absl::StrJoin(names, ", "));
}

absl::Status JsonToMessage(const Json& json,
                           google::protobuf::Message* message) {
  const auto status = google::protobuf::util::JsonStringToMessage(
      json.dump(-1, ' ', false, Json::error_handler_t::replace), message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::string_view(status.message().data(), status.message().size()));
}

}  // namespace paceline
