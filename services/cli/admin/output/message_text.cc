#include "services/cli/admin/output/message_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "google/protobuf/util/json_util.h"
#include "services/cli/admin/output/yaml_text.h"

namespace paceline {

absl::StatusOr<std::string> MessageToJson(
    const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat(
        "cannot write ", message.GetDescriptor()->full_name(), " as JSON: ",
        absl::string_view(status.message().data(), status.message().size())));
  }
  absl::StripAsciiWhitespace(&json);
  return absl::StrCat(json, "\n");
}

absl::StatusOr<std::string> MessageToYaml(
    const google::protobuf::Message& message) {
  PACELINE_ASSIGN_OR_RETURN(const std::string json, MessageToJson(message));
  return YamlText(Json::parse(json));
}

}  // namespace paceline
