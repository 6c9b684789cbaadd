#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_MESSAGE_TEXT_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_MESSAGE_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace paceline {

// The proto JSON mapping of a message, indented, ended by a line feed, maps in
// the order of their keys. INTERNAL for what has none: a time that is out of
// range.
absl::StatusOr<std::string> MessageToJson(
    const google::protobuf::Message& message);

// The same tree as YAML: 64-bit integers are strings there too.
absl::StatusOr<std::string> MessageToYaml(
    const google::protobuf::Message& message);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_MESSAGE_TEXT_H_
