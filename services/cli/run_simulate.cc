#include "services/cli/run_simulate.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "services/cli/simulate_options.h"
#include "services/cli/simulation_report.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {

absl::StatusOr<SimulateOutput> RunSimulate(const SimulateFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const SimulateOptions options,
                            ParseSimulateOptions(flags));
  SimulateOutput output;
  std::vector<Json> runs;
  for (const std::string& paradigm : options.paradigms) {
    auto policy = MakePolicy(paradigm);
    CHECK(policy.ok());  // ParseSimulateOptions() has tried.
    SimulationResult result =
        VirtualCluster(&options.cluster, *std::move(policy), nullptr).Run();
    result.paradigm = paradigm;  // As it was typed, as in a real run.
    output.complete = output.complete && result.complete;
    runs.push_back(SimulationRun(result));
  }
  if (options.json) {
    Json document;
    document["runs"] = runs;
    // A worker's name may be no UTF-8: it comes from a file.
    output.text = absl::StrCat(
        document.dump(2, ' ', false, Json::error_handler_t::replace), "\n");
  } else {
    output.text = SimulationTable(runs);
  }
  return output;
}

}  // namespace paceline
