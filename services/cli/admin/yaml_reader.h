#ifndef PACELINE_SERVICES_CLI_ADMIN_YAML_READER_H_
#define PACELINE_SERVICES_CLI_ADMIN_YAML_READER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/status_details.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "services/cli/json_fields.h"
#include "yaml-cpp/yaml.h"

namespace paceline {

// Turns a YAML tree into the proto JSON of a message whose type is known, so
// that whatever is wrong is found with its line and its path. Names of fields
// may be snake_case or camelCase; durations are "30s", "5m" or "1.5h"; what is
// null is as if it were left out.
class YamlReader {
 public:
  // The JSON of `node` as a message of this type. What is wrong is left out
  // and noted.
  Json ReadMessage(const YAML::Node& node,
                   const google::protobuf::Descriptor& type,
                   const std::string& path);

  // The JSON of a value of this field, repeated or not.
  Json ReadField(const YAML::Node& node,
                 const google::protobuf::FieldDescriptor& field,
                 const std::string& path);

  // What was wrong, in the order in which it stands there; the fields are as
  // "line 7: spec.batch_size".
  const std::vector<FieldViolation>& violations() const { return violations_; }

 private:
  Json ReadSingle(const YAML::Node& node,
                  const google::protobuf::FieldDescriptor& field,
                  const std::string& path);
  Json ReadList(const YAML::Node& node,
                const google::protobuf::FieldDescriptor& field,
                const std::string& path);
  Json ReadMap(const YAML::Node& node,
               const google::protobuf::FieldDescriptor& field,
               const std::string& path);
  Json ReadScalar(const YAML::Node& node,
                  const google::protobuf::FieldDescriptor& field,
                  const std::string& path);
  void Refuse(const YAML::Node& node, const std::string& path,
              std::string what);
  // False once there is more than any job needs: aliases of aliases unfold to
  // billions of nodes.
  bool Count(const YAML::Node& node, const std::string& path);

  std::vector<FieldViolation> violations_;
  int nodes_ = 0;
};

// The field of that name in snake_case or camelCase; null if there is none.
const google::protobuf::FieldDescriptor* FindProtoField(
    const google::protobuf::Descriptor& type, absl::string_view name);

// Whether only the coordinator sets the field.
bool IsOutputOnly(const google::protobuf::FieldDescriptor& field);

// "there is no such field; did you mean learning_rate?"
std::string NoSuchField(const google::protobuf::Descriptor& type,
                        absl::string_view name);

// Sets `message` to what the JSON says. INVALID_ARGUMENT as Protobuf puts it.
absl::Status JsonToMessage(const Json& json,
                           google::protobuf::Message* message);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_YAML_READER_H_
