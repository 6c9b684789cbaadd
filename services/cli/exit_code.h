#ifndef PACELINE_SERVICES_CLI_EXIT_CODE_H_
#define PACELINE_SERVICES_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace paceline {

// How the `paceline` command ends. Scripts depend on these numbers; they are
// listed in `paceline --help` too.
enum class ExitCode : int {
  kSuccess = 0,
  kFailed = 1,        // The run failed.
  kUsage = 2,         // A flag, or an input that a flag names, is wrong.
  kNotFound = 3,      // A file that a flag names does not exist.
  kPrecondition = 4,  // The state of the installation does not allow it.
  kDenied = 5,        // Not allowed.
  kUnavailable = 6,   // A process did not answer in time, or a port is taken.
  kInterrupted = 130  // 128 + SIGINT; another signal N ends it with 128 + N.
};

// The exit code of a run that ended with `status`.
ExitCode ExitCodeOf(const absl::Status& status);

// The exit code of a command whose input was found wrong: kNotFound for a
// missing file, kUsage for everything else.
ExitCode ExitCodeOfInput(const absl::Status& status);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_EXIT_CODE_H_
