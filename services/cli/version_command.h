#ifndef PACELINE_SERVICES_CLI_VERSION_COMMAND_H_
#define PACELINE_SERVICES_CLI_VERSION_COMMAND_H_

#include <string>

namespace paceline {

// What `paceline version` prints: "paceline 0.1.0", or
// {"client":{"version":"0.1.0"}}. A server's version joins it with the admin
// API.
std::string VersionText(bool json);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_VERSION_COMMAND_H_
