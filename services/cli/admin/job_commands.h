#ifndef PACELINE_SERVICES_CLI_ADMIN_JOB_COMMANDS_H_
#define PACELINE_SERVICES_CLI_ADMIN_JOB_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// Each adds its commands to `paceline job`.
void AddJobCreateCommand(CLI::App& job, ChosenCommand& chosen);
void AddJobReadCommands(CLI::App& job, ChosenCommand& chosen);
void AddJobChangeCommands(CLI::App& job, ChosenCommand& chosen);
void AddJobFollowCommands(CLI::App& job, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_JOB_COMMANDS_H_
