#ifndef PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_
#define PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "services/cli/job_flags.h"
#include "services/cli/training_data.h"
#include "services/simulator/cluster_spec.h"
#include "services/simulator/training/virtual_training.h"

namespace paceline {

// The flags of `paceline simulate` as they were typed; the values shown are the
// defaults. ParseSimulateOptions() says which are acceptable.
struct SimulateFlags : JobFlags {
  int64_t workers = 0;          // 0: as many as the lists say, or 4.
  std::string iteration_times;  // Empty: "1s".
  std::string profile = "uniform";
  std::vector<std::string> jitter;
  double micro_batch_cost = 0;  // Of the mean time of a full batch.
  int64_t in_flight = 1;        // Iterations of each worker.
  std::string trace;
  // What such a file has, of a job; `trace` is empty then. No flag fills it.
  std::string job_trace;

  std::string duration;    // Empty: until all samples are counted.
  int64_t iterations = 0;  // Of these three at most one is given.
  int64_t samples = 0;

  std::string train;      // A model; empty: nothing is trained.
  std::string data;       // Empty: "synthetic:shapes".
  std::string plot;       // Empty: nothing is drawn.
  double local_rate = 0;  // 0: workers push gradients.

  int64_t servers = 1;
  std::string latency = "0s";
  std::string bandwidth;          // Empty: infinite.
  std::string server_bandwidth;   // Likewise.
  std::string server_copy_rate;   // Likewise.
  std::string server_apply_rate;  // Likewise.
  std::string server_update_time = "0s";
  std::string model_bytes;  // Empty: 0, or what is trained has.
  std::string join;
  std::string leave;
  std::string crash;
};

// Makes `command` fill `flags`, with help and examples.
void AddSimulateFlags(CLI::App& command, SimulateFlags& flags);

// This is what `paceline simulate` was asked to do.
struct SimulateOptions {
  std::vector<ComparedRun> runs;  // At least one.
  size_t repeat = 1;              // So often each.
  ClusterSpec cluster;
  // These are trained on; null, and without meaning, if nothing is trained.
  std::shared_ptr<const TrainingData> data;
  TrainingSpec training;
  std::vector<double> target_accuracies;  // From the lowest to the highest.
  std::string plot;                       // A file; empty: nothing is drawn.
  bool json = false;
};

// Reads the trace or the data, if there are such. NOT_FOUND if they do not
// exist; INVALID_ARGUMENT, naming the flag, for the first that is wrong,
// contradicts another one or would take too long to run.
absl::StatusOr<SimulateOptions> ParseSimulateOptions(
    const SimulateFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SIMULATE_OPTIONS_H_
