#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_YAML_TEXT_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_YAML_TEXT_H_

#include <string>

#include "services/cli/json_fields.h"

namespace paceline {

// A JSON document as YAML in block style. A string that a YAML reader could
// take for anything else is quoted, so that reading it gives the same tree.
std::string YamlText(const Json& document);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_YAML_TEXT_H_
