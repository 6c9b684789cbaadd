#ifndef PACELINE_SERVICES_CLI_HELP_FORMAT_H_
#define PACELINE_SERVICES_CLI_HELP_FORMAT_H_

#include <memory>

#include "CLI/CLI.hpp"

namespace paceline {

// How `--help` looks: as CLI11 has it, but that what a flag means is broken
// into lines which a terminal of 100 columns shows whole. For the root command,
// before it has others.
std::shared_ptr<CLI::Formatter> MakeHelpFormat();

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_HELP_FORMAT_H_
