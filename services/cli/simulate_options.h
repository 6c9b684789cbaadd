#ifndef PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_
#define PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/cli/job_flags.h"
#include "services/cli/simulate_flags.h"
#include "services/cli/training_data.h"
#include "services/simulator/cluster_spec.h"
#include "services/simulator/training/virtual_training.h"

namespace paceline {

// This is what `paceline simulate` was asked to do.
struct SimulateOptions {
  std::vector<ComparedRun> runs;  // At least one.
  ClusterSpec cluster;
  // These are trained on; null, and without meaning, if nothing is trained.
  std::shared_ptr<const TrainingData> data;
  TrainingSpec training;
  std::string plot;  // A file; empty: nothing is drawn.
  bool json = false;
};

// Reads the trace or the data, if there are such. NOT_FOUND if they do not
// exist; INVALID_ARGUMENT, naming the flag, for the first that is wrong,
// contradicts another one or would take too long to run.
absl::StatusOr<SimulateOptions> ParseSimulateOptions(
    const SimulateFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_
