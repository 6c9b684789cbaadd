#ifndef PACELINE_SERVICES_CLI_PROGRAM_OUTPUT_H_
#define PACELINE_SERVICES_CLI_PROGRAM_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paceline {

// Where the program of the worker called `worker` writes, in the folder of a
// run.
std::string ProgramLog(absl::string_view folder, absl::string_view worker);

// `why` with the last of the lines that an agent quotes of its program alone:
// the others are in its log.
std::string WithLastQuote(absl::string_view why);

// Removes all of them, of an earlier use of the folder.
void RemoveProgramLogs(const std::string& folder);

// What explains to a person why a run of programs failed with the message
// `why`, as lines: what the program of the worker that it names first said
// last, or else that of the first of `workers` which said anything; and what to
// do where that is known. None if no program has said anything.
std::vector<std::string> LastWords(absl::string_view folder,
                                   absl::string_view why,
                                   const std::vector<std::string>& workers);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PROGRAM_OUTPUT_H_
