#include "services/cli/run_simulate.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/plot_file.h"
#include "services/cli/simulated_runs.h"
#include "services/cli/simulation_report.h"

namespace paceline {
namespace {

std::vector<PlannedRun> Planned(const SimulateOptions& options) {
  std::vector<PlannedRun> planned;
  planned.reserve(options.runs.size());
  for (const ComparedRun& run : options.runs) {
    planned.push_back({.run = run,
                       .seed = options.cluster.seed,
                       .draws = !options.plot.empty()});
  }
  return planned;
}

std::string Text(const std::vector<Json>& runs, bool json) {
  if (!json) return SimulationTable(runs);
  Json document;
  document["runs"] = runs;
  return absl::StrCat(document.dump(2), "\n");
}

}  // namespace

absl::StatusOr<SimulateOutput> RunSimulate(
    const SimulateFlags& flags, const std::string& command,
    const std::function<void(absl::string_view)>& note) {
  PACELINE_ASSIGN_OR_RETURN(const SimulateOptions options,
                            ParseSimulateOptions(flags));
  PlotFile plot;
  PACELINE_RETURN_IF_ERROR(plot.Open(options.plot));
  std::function<void(const SimulationResult&)> ended;
  if (note != nullptr && options.data != nullptr) {
    ended = [&note](const SimulationResult& result) {
      note(SimulationLine(result));
    };
  }
  SimulateOutput output;
  std::vector<Json> documents;
  std::vector<Json> drawn;
  for (auto& run : SimulateAll(options, Planned(options), ended)) {
    output.status.Update(run.status());
    if (!run.ok()) continue;
    if (!run->result.complete) {
      output.status.Update(absl::AbortedError(
          absl::StrCat(run->result.paradigm, " could not go on to the end")));
    }
    documents.push_back(SimulationRun(run->result));
    drawn.push_back(std::move(run->drawn));
  }
  output.status.Update(plot.Write(std::move(drawn), command));
  output.text = Text(documents, options.json);
  return output;
}

}  // namespace paceline
