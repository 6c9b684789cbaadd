#ifndef PACELINE_SERVICES_CLI_RUN_LOCAL_H_
#define PACELINE_SERVICES_CLI_RUN_LOCAL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/local_options.h"
#include "services/cli/progress_printer.h"
#include "services/cli/run_supervisor.h"

namespace paceline {

// What `paceline local` gets from the process it runs in.
struct LocalSurroundings {
  std::string bin_dir;      // Holds the programs of paceline.
  std::string run_dir;      // Receives one folder per run.
  std::string command;      // As it was typed, for the page of --plot.
  ProgressOutput progress;  // For people: stderr.
  // For results: stdout. False if they could not be written.
  std::function<bool(absl::string_view)> write_result;
  RunTimeouts timeouts;
  StartJob start_job;
};

// One run per paradigm of `options`, or several by turns, one after the other,
// each with a fresh cluster; stops at the first that fails. Then writes the
// results of those that ended well, as a table or as one JSON document, and the
// page that draws them, if it was asked for.
// `train_samples` is the size of an epoch; a program is asked for that, and for
// all else that `options` leave open. Returns the exit code (exit_code.h). Ends
// every process that it starts.
int RunLocal(LocalOptions options, int64_t train_samples,
             const LocalSurroundings& surroundings);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_RUN_LOCAL_H_
