#ifndef PACELINE_SERVICES_CLI_PROGRAM_FLAGS_H_
#define PACELINE_SERVICES_CLI_PROGRAM_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/typed_flags.h"

namespace paceline {

// The flags that name a program of the user's own, whose processes compute
// gradients in place of a built-in model, as they were typed.
struct ProgramFlags {
  std::string command;                 // Empty: a built-in model is trained.
  std::string name;                    // Empty: made of the command.
  std::vector<std::string> arguments;  // KEY=VALUE each.
};

// Makes `command` fill `flags`, with help.
void AddProgramFlags(CLI::App& command, ProgramFlags& flags);

// A program that a run starts, once for every worker.
struct LocalProgram {
  std::string command;  // For a shell: "python3 train.py --verbose".
  std::string name;     // A plain name: the job's model is "program:NAME".
};

// A plain name for what `command` starts: "train" of "python3 train.py", of
// "python3 -m shop.train --verbose" and of "./train".
std::string ProgramNameOf(absl::string_view command);

// The program, or nothing if none was asked for. `typed` has all flags of the
// command that were given. INVALID_ARGUMENT, naming the flag, for a name that
// is none, for flags of a program without one, and for those of a built-in
// model beside one.
absl::StatusOr<std::optional<LocalProgram>> ParseProgramFlags(
    const ProgramFlags& flags, const TypedFlags& typed);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PROGRAM_FLAGS_H_
