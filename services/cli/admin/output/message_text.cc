#include "services/cli/admin/output/message_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"
#include "services/cli/admin/output/yaml_text.h"

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

}  // namespace

absl::StatusOr<std::string> MessageToJson(
    const google::protobuf::Message& message) {
  static google::protobuf::util::TypeResolver* const kResolver =
      google::protobuf::util::NewTypeResolverForDescriptorPool(
          kTypes, google::protobuf::DescriptorPool::generated_pool());
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
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

absl::StatusOr<std::string> MessageToYaml(
    const google::protobuf::Message& message) {
  PACELINE_ASSIGN_OR_RETURN(const std::string json, MessageToJson(message));
  return YamlText(Json::parse(json));
}

}  // namespace paceline
