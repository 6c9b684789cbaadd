#ifndef PACELINE_SERVICES_CLI_TYPED_FLAGS_H_
#define PACELINE_SERVICES_CLI_TYPED_FLAGS_H_

#include <set>
#include <string>

#include "CLI/App.hpp"

namespace paceline {

// The flags that somebody has given, "--model": what is left to its default
// cannot be told from its value.
using TypedFlags = std::set<std::string>;

// Those of `command`, which has been parsed.
TypedFlags TypedFlagsOf(const CLI::App& command);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_TYPED_FLAGS_H_
