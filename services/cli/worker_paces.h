#ifndef PACELINE_SERVICES_CLI_WORKER_PACES_H_
#define PACELINE_SERVICES_CLI_WORKER_PACES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/cli/local_flags.h"

namespace paceline {

// The slowness imitated by one worker, in the syntax of its flags. Empty: none.
struct WorkerPace {
  std::string slowdown;
  std::string step_time;
  std::string delay;
  std::string pause;
};

// One element per worker, out of --slowdown, which lists one factor per worker,
// --step-time, which is every worker's, and --delay and --pause, which are
// given once for every worker or once per worker; "none" is none.
// INVALID_ARGUMENT, naming the flag, for a wrong number of them or a value that
// a worker would refuse.
absl::StatusOr<std::vector<WorkerPace>> ParseWorkerPaces(
    const LocalFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_WORKER_PACES_H_
