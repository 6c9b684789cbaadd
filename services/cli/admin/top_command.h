#ifndef PACELINE_SERVICES_CLI_ADMIN_TOP_COMMAND_H_
#define PACELINE_SERVICES_CLI_ADMIN_TOP_COMMAND_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// `paceline top`.
void AddTopCommand(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_TOP_COMMAND_H_
