#ifndef PACELINE_SERVICES_CLI_COMMAND_LINES_H_
#define PACELINE_SERVICES_CLI_COMMAND_LINES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/cli/local_options.h"

namespace paceline {

// The processes of one run, and how each is started. `bin_dir` holds the
// programs; `coordinator` is the address it listens at.
using CommandLine = std::vector<std::string>;

inline constexpr absl::string_view kCoordinatorProgram = "paceline-coordinator";
inline constexpr absl::string_view kServerProgram = "paceline-server";
inline constexpr absl::string_view kWorkerProgram = "paceline-worker";

// Everything that it keeps is in `folder`: jobs.db, checkpoints, record.
CommandLine CoordinatorCommand(absl::string_view bin_dir,
                               absl::string_view folder,
                               const LocalOptions& options);

// Server `index`, called "s<index>".
CommandLine ServerCommand(absl::string_view bin_dir,
                          absl::string_view coordinator, int index);

// Worker `index` of `options`, called "w<index>".
CommandLine WorkerCommand(absl::string_view bin_dir,
                          absl::string_view coordinator,
                          const LocalOptions& options, int index);

// The evaluator, called "eval". Of low priority when it evaluates in the middle
// of the training, beside the workers.
CommandLine EvaluatorCommand(absl::string_view bin_dir,
                             absl::string_view coordinator,
                             const LocalOptions& options);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_COMMAND_LINES_H_
