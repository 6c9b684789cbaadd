#ifndef PACELINE_SERVICES_CLI_USAGE_ERROR_H_
#define PACELINE_SERVICES_CLI_USAGE_ERROR_H_

#include <string>

#include "CLI/CLI.hpp"

namespace paceline {

// What was wrong with a command line that `app` could not parse, and what was
// probably meant, in one line:
//   there is no command "lst" of paceline job; did you mean list? (see
//   paceline job --help)
std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_USAGE_ERROR_H_
