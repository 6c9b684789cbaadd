#ifndef PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_
#define PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/cli/job_flags.h"
#include "services/cli/local_flags.h"
#include "services/cli/worker_paces.h"

namespace paceline {

// This is what `paceline local` was asked to do, checked as far as that is
// possible without looking at files.
struct LocalOptions {
  // `job.spec` has all but what MakeJobSpec() (job_flags.h) adds for each run.
  JobRequest job;
  std::vector<WorkerPace> workers;   // One element a worker.
  std::vector<std::string> devices;  // One a worker.
  int threads = 1;                   // Of each worker.
  int port = 0;
  std::string run_dir;  // Empty: to be chosen.
  std::string record;   // Empty: nothing is recorded.
  bool json = false;
};

// INVALID_ARGUMENT, naming the flag, for the first that is wrong, contradicts
// another one or is beyond what one machine can carry. Reads no file.
absl::StatusOr<LocalOptions> ParseLocalOptions(const LocalFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_
