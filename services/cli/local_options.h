#ifndef PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_
#define PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "services/cli/job_flags.h"
#include "services/cli/program_environment.h"
#include "services/cli/program_flags.h"
#include "services/cli/typed_flags.h"

namespace paceline {

// The flags of `paceline local` as they were typed; the values shown are the
// defaults. ParseLocalOptions() says which are acceptable.
struct LocalFlags : JobFlags {
  std::string model{kDefaultModel};
  std::string data{kDefaultData};
  ProgramFlags program;
  int64_t workers = 4;
  int64_t servers = 2;
  int64_t replicas = 0;
  double max_seconds = 0;
  std::string wire = "fp32";
  std::string precision = "fp32";
  bool defer_eval = false;
  double eval_share = 0;
  bool no_eval = false;
  std::string slowdown;
  std::string step_time;
  std::vector<std::string> delay;
  std::vector<std::string> pause;
  std::string micro_batch_cost;
  std::vector<std::string> device;
  int64_t threads = 1;
  int64_t in_flight = 1;
  int64_t port = 0;
  std::string run_dir;
  std::string record;  // Empty: nothing is recorded.
  std::string plot;    // Empty: nothing is drawn.
  bool ui = false;
  // Those that were given: for what a program knows better than our defaults.
  TypedFlags typed;
};

// Makes `command` fill `flags`, but for `typed`, with help and examples.
void AddLocalFlags(CLI::App& command, LocalFlags& flags);

// The slowness imitated by one worker, in the syntax of its flags. Empty: none.
struct WorkerPace {
  std::string slowdown;
  std::string step_time;
  std::string delay;
  std::string pause;
  std::string micro_batch_cost;
};

// This is what `paceline local` was asked to do, checked as far as that is
// possible without looking at files.
struct LocalOptions {
  // `job.spec` has all but what MakeJobSpec() (job_flags.h) adds for each run.
  JobRequest job;
  // What is trained instead of a built-in model. What its own script decides,
  // as the optimizer, is left out of the spec unless a flag says it.
  std::optional<LocalProgram> program;
  std::vector<WorkerPace> workers;   // One element a worker.
  std::vector<std::string> devices;  // One a worker.
  int threads = 1;                   // Of each worker.
  bool threads_given = false;        // Rather than left to the default.
  int in_flight = 1;                 // Iterations of each worker.
  int port = 0;
  std::string run_dir;  // Empty: to be chosen.
  std::string record;   // Empty: nothing is recorded.
  std::string plot;     // Empty: nothing is drawn.
  bool json = false;
  bool ui = false;  // A page of the runs is served.
};

// INVALID_ARGUMENT, naming the flag, for the first that is wrong, contradicts
// another one or is beyond what one machine can carry. Reads no file.
absl::StatusOr<LocalOptions> ParseLocalOptions(const LocalFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_
