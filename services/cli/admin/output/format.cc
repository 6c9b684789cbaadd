#include "services/cli/admin/output/format.h"

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/output/message_text.h"

namespace paceline {
namespace {

absl::StatusOr<std::string> Names(const Printable& printable) {
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

using ToText =
    absl::StatusOr<std::string> (*)(const google::protobuf::Message&);

absl::StatusOr<std::string> Documents(const Printable& printable,
                                      ToText to_text,
                                      absl::string_view separator) {
  if (printable.whole != nullptr) return to_text(*printable.whole);
  std::string text;
  for (const google::protobuf::Message* message : printable.messages) {
    if (!text.empty()) absl::StrAppend(&text, separator);
    PACELINE_ASSIGN_OR_RETURN(const std::string document, to_text(*message));
    absl::StrAppend(&text, document);
  }
  return text;
}

}  // namespace

absl::StatusOr<OutputFormat> ParseOutputFormat(absl::string_view text) {
  if (text == "table") return OutputFormat::kTable;
  if (text == "wide") return OutputFormat::kWide;
  if (text == "json") return OutputFormat::kJson;
  if (text == "yaml") return OutputFormat::kYaml;
  if (text == "name") return OutputFormat::kName;
  return absl::InvalidArgumentError(absl::StrCat(
      "--output \"", text, "\": must be one of table, wide, json, yaml, name"));
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
    case OutputFormat::kWide:
      return RenderTable(printable.table(true), headers);
    case OutputFormat::kTable:
      break;
  }
  return RenderTable(printable.table(false), headers);
}

}  // namespace paceline
