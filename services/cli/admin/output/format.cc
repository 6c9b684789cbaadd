#include "services/cli/admin/output/format.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"

namespace paceline {
namespace {

constexpr char kTypes[] = "type.googleapis.com";

// Maps by their keys: MessageToJsonString() has them in another order every
// time.
std::string SortedBytes(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

// What YAML 1.1 or 1.2 readers take for a boolean or nothing.
bool Reserved(absl::string_view text) {
  for (absl::string_view word : {"true", "false", "null", "yes", "no", "on",
                                 "off", "y", "n", "inf", "nan"}) {
    if (absl::EqualsIgnoreCase(text, word)) return true;
  }
  return false;
}

bool Plain(absl::string_view text) {
  if (text.empty() ||
      !absl::ascii_isalpha(static_cast<unsigned char>(text[0])) ||
      Reserved(text)) {
    return false;
  }
  for (char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        !absl::StrContains("_./-", absl::string_view(&c, 1))) {
      return false;
    }
  }
  return true;
}

// A JSON string is a double-quoted YAML string.
std::string Scalar(const Json& value) {
  if (value.is_string() && Plain(value.get_ref<const std::string&>())) {
    return value.get<std::string>();
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Append(const Json& value, int depth, std::string* text);

// What follows "key:" or "-".
void AppendValue(const Json& value, int depth, bool in_list,
                 std::string* text) {
  if (!value.is_structured() || value.empty()) {
    absl::StrAppend(text, " ",
                    value.is_structured() ? value.dump() : Scalar(value), "\n");
    return;
  }
  if (!in_list) {
    absl::StrAppend(text, "\n");
    Append(value, depth, text);
    return;
  }
  // The first line of what is in a list stands beside its dash.
  std::string inner;
  Append(value, depth, &inner);
  absl::StrAppend(text, " ", inner.substr(2 * static_cast<size_t>(depth)));
}

void Append(const Json& value, int depth, std::string* text) {
  const std::string indent(2 * static_cast<size_t>(depth), ' ');
  for (const auto& [key, element] : value.items()) {
    if (value.is_array()) {
      absl::StrAppend(text, indent, "-");
    } else {
      absl::StrAppend(text, indent, Scalar(Json(key)), ":");
    }
    AppendValue(element, depth + 1, value.is_array(), text);
  }
}

absl::StatusOr<std::string> Names(const Printable& printable) {
  if (printable.document != nullptr) {
    return absl::InvalidArgumentError(
        "-o name: this command shows no resources; use table, csv, json or "
        "yaml");
  }
  std::string text;
  for (const google::protobuf::Message* message : printable.messages) {
    const auto* field = message->GetDescriptor()->FindFieldByName("name");
    if (field == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("-o name: a ", message->GetDescriptor()->name(),
                       " has no name; use table, wide, json or yaml"));
    }
    absl::StrAppend(&text, message->GetReflection()->GetString(*message, field),
                    "\n");
  }
  return text;
}

// Protobuf leaves an empty list out, and whoever asks for a list counts on it.
// Null if none is left out.
const google::protobuf::FieldDescriptor* EmptyList(
    const google::protobuf::Message& message) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = type.field(i);
    if (field->is_repeated() && !field->is_map() &&
        message.GetReflection()->FieldSize(message, field) == 0) {
      return field;
    }
  }
  return nullptr;
}

using ToText =
    absl::StatusOr<std::string> (*)(const google::protobuf::Message&);

std::string DocumentText(const Json& document, ToText like) {
  return like == &MessageToYaml ? YamlText(document)
                                : absl::StrCat(document.dump(1), "\n");
}

absl::StatusOr<std::string> Documents(const Printable& printable,
                                      ToText to_text,
                                      absl::string_view separator) {
  if (printable.document != nullptr) {
    return DocumentText(*printable.document, to_text);
  }
  if (printable.whole != nullptr) {
    const auto* empty = EmptyList(*printable.whole);
    if (empty == nullptr) return to_text(*printable.whole);
    PACELINE_ASSIGN_OR_RETURN(const std::string json,
                              MessageToJson(*printable.whole));
    Json document = Json::parse(json);
    document[empty->json_name()] = Json::array();
    return DocumentText(document, to_text);
  }
  std::string text;
  for (const google::protobuf::Message* message : printable.messages) {
    if (!text.empty()) absl::StrAppend(&text, separator);
    PACELINE_ASSIGN_OR_RETURN(const std::string document, to_text(*message));
    absl::StrAppend(&text, document);
  }
  return text;
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message,
                                   bool names_of_files) {
  static google::protobuf::util::TypeResolver* const kResolver =
      google::protobuf::util::NewTypeResolverForDescriptorPool(
          kTypes, google::protobuf::DescriptorPool::generated_pool());
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = names_of_files;
  std::string json;
  const auto status = google::protobuf::util::BinaryToJsonString(
      kResolver,
      absl::StrCat(kTypes, "/", message.GetDescriptor()->full_name()),
      SortedBytes(message), &json, options);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat(
        "cannot write ", message.GetDescriptor()->full_name(), " as JSON: ",
        absl::string_view(status.message().data(), status.message().size())));
  }
  absl::StripAsciiWhitespace(&json);
  return absl::StrCat(json, "\n");
}

}  // namespace

absl::StatusOr<std::string> MessageToJson(
    const google::protobuf::Message& message) {
  return ToJson(message, /*names_of_files=*/false);
}

absl::StatusOr<std::string> MessageToJobYaml(
    const google::protobuf::Message& message) {
  PACELINE_ASSIGN_OR_RETURN(const std::string json,
                            ToJson(message, /*names_of_files=*/true));
  return YamlText(Json::parse(json));
}

absl::StatusOr<std::string> MessageToYaml(
    const google::protobuf::Message& message) {
  PACELINE_ASSIGN_OR_RETURN(const std::string json, MessageToJson(message));
  return YamlText(Json::parse(json));
}

std::string YamlText(const Json& document) {
  if (!document.is_structured()) return absl::StrCat(Scalar(document), "\n");
  if (document.empty()) return absl::StrCat(document.dump(), "\n");
  std::string text;
  Append(document, 0, &text);
  return text;
}

absl::StatusOr<OutputFormat> ParseOutputFormat(absl::string_view text,
                                               bool has_csv) {
  if (text == "table") return OutputFormat::kTable;
  if (text == "wide") return OutputFormat::kWide;
  if (text == "json") return OutputFormat::kJson;
  if (text == "yaml") return OutputFormat::kYaml;
  if (text == "name") return OutputFormat::kName;
  if (has_csv && text == "csv") return OutputFormat::kCsv;
  return absl::InvalidArgumentError(absl::StrCat(
      "--output \"", text, "\": must be one of table, wide, json, yaml, name",
      has_csv ? ", csv" : ""));
}

absl::StatusOr<std::string> Render(const Printable& printable,
                                   OutputFormat format, bool headers) {
  switch (format) {
    case OutputFormat::kJson:
      return Documents(printable, &MessageToJson, "");
    case OutputFormat::kYaml:
      return Documents(printable, &MessageToYaml, "---\n");
    case OutputFormat::kName:
      return Names(printable);
    case OutputFormat::kCsv:
      return CsvText(printable.csv(), headers);
    case OutputFormat::kWide:
    case OutputFormat::kTable:
      break;
  }
  const bool wide = format == OutputFormat::kWide;
  return printable.text != nullptr
             ? printable.text(wide, headers)
             : RenderTable(printable.table(wide), headers);
}

}  // namespace paceline
