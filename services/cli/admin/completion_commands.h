#ifndef PACELINE_SERVICES_CLI_ADMIN_COMPLETION_COMMANDS_H_
#define PACELINE_SERVICES_CLI_ADMIN_COMPLETION_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// `paceline completion`, and the hidden `paceline __complete` that its scripts
// call: the words that could follow, one a line, or ":files".
void AddCompletionCommands(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_COMPLETION_COMMANDS_H_
