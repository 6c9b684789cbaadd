#ifndef PACELINE_SERVICES_CLI_ADMIN_CHECKPOINT_COMMANDS_H_
#define PACELINE_SERVICES_CLI_ADMIN_CHECKPOINT_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// `paceline checkpoint`.
void AddCheckpointCommands(CLI::App& root, ChosenCommand& chosen);

// Those of its commands that work on folders: `verify` and `export`.
void AddCheckpointFileCommands(CLI::App& checkpoint, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_CHECKPOINT_COMMANDS_H_
