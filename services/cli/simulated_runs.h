#ifndef PACELINE_SERVICES_CLI_SIMULATED_RUNS_H_
#define PACELINE_SERVICES_CLI_SIMULATED_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/job/optimizer_spec.h"
#include "services/cli/job_flags.h"
#include "services/cli/json_fields.h"
#include "services/cli/simulate_options.h"
#include "services/cli/target_times.h"
#include "services/simulator/simulation_result.h"

namespace paceline {

// How a run learns: what takes the place of the options' rate and optimizer.
struct RunStep {
  double learning_rate = 0;
  OptimizerSpec optimizer;
};

// One run of a comparison in virtual time.
struct PlannedRun {
  ComparedRun run;
  uint64_t seed = 1;  // Of all its chance.
  bool draws = false;
  std::optional<RunStep> step;  // Nothing: those of the options.
};

// All runs of `options`, in the order of ByTurns(). With --plot the first one
// of each draws.
std::vector<PlannedRun> PlanRuns(const SimulateOptions& options);

struct FinishedRun {
  size_t index = 0;  // Of the runs that were planned.
  SimulationResult result;
  std::vector<TargetTime> targets;
  Json drawn;  // An element of "runs" of the page; null: it does not draw.
};

// Simulates them. They share nothing and run beside each other, as many as the
// machine has cores. `ended`, if not null, is called as each has ended, one
// call at a time. The results are in the order of `runs`; the errors are those
// of a training, and name the run.
std::vector<absl::StatusOr<FinishedRun>> SimulateAll(
    const SimulateOptions& options, absl::Span<const PlannedRun> runs,
    const std::function<void(const FinishedRun&)>& ended);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SIMULATED_RUNS_H_
