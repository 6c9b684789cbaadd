#ifndef PACELINE_SERVICES_CLI_RUN_ADVISE_H_
#define PACELINE_SERVICES_CLI_RUN_ADVISE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/run_simulate.h"
#include "services/cli/simulate_options.h"

namespace paceline {

// The flags of `paceline advise` as they were typed.
struct AdviseFlags : SimulateFlags {
  AdviseFlags() { repeat = 5; }
};

// Makes `command` fill `flags`, with help and examples.
void AddAdviseFlags(CLI::App& command, AdviseFlags& flags);

// Simulates each paradigm, those of the flags or else all that are worth it,
// with several seeds, and says which one suits the workers. `note` gets a line
// for each run that trained, `command` stands on the page of --plot, which
// draws the first seed.
//
// The errors of RunSimulate().
absl::StatusOr<SimulateOutput> RunAdvise(
    AdviseFlags flags, const std::string& command,
    const std::function<void(absl::string_view)>& note);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_RUN_ADVISE_H_
