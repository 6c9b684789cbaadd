#ifndef PACELINE_SERVICES_CLI_ADMIN_ADMIN_COMMANDS_H_
#define PACELINE_SERVICES_CLI_ADMIN_ADMIN_COMMANDS_H_

#include <memory>

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// Adds all commands that talk to a coordinator (job, worker, server,
// checkpoint, top, audit), `config`, `completion` and `version` to the
// `paceline` command. After parsing, the result says whether one of them was
// chosen and runs it. It must outlive `app`'s parsing.
std::unique_ptr<ChosenCommand> AddAdminCommands(CLI::App& app, Console console);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_ADMIN_COMMANDS_H_
