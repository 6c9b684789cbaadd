#ifndef PACELINE_SERVICES_CLI_ADMIN_MEMBER_COMMANDS_H_
#define PACELINE_SERVICES_CLI_ADMIN_MEMBER_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// Each adds its noun to `paceline`: `worker`, `server`, `audit`.
void AddWorkerCommands(CLI::App& root, ChosenCommand& chosen);
void AddServerCommands(CLI::App& root, ChosenCommand& chosen);
void AddAuditCommands(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_MEMBER_COMMANDS_H_
