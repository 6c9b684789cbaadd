#ifndef PACELINE_SERVICES_CLI_ADMIN_VERSION_COMMANDS_H_
#define PACELINE_SERVICES_CLI_ADMIN_VERSION_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// `paceline version`: of this program, and of the coordinator if one is named
// and answers.
void AddVersionCommand(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_VERSION_COMMANDS_H_
