#ifndef PACELINE_SERVICES_CLI_UI_UI_COMMAND_H_
#define PACELINE_SERVICES_CLI_UI_UI_COMMAND_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// `paceline ui`: serves the page until it is interrupted.
void AddUiCommand(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_UI_UI_COMMAND_H_
