#ifndef PACELINE_SERVICES_CLI_ADMIN_CONFIG_COMMANDS_H_
#define PACELINE_SERVICES_CLI_ADMIN_CONFIG_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// `paceline config`: the contexts of the config file.
void AddConfigCommands(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_CONFIG_COMMANDS_H_
