#include "services/cli/run_simulate.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/compared_runs.h"
#include "services/cli/plot/plot_file.h"
#include "services/cli/simulated_runs.h"
#include "services/cli/simulation_report.h"

namespace paceline {
namespace {

// `runs` in their order, `results` the same by paradigm.
std::string Text(const SimulateOptions& options, const std::vector<Json>& runs,
                 const std::vector<ComparedRuns>& results) {
  if (!options.json) {
    return options.repeat > 1 ? RepeatedSimulationTable(results)
                              : SimulationTable(runs);
  }
  Json document;
  document["runs"] = runs;
  if (options.repeat > 1) document["summaries"] = SummariesJson(results);
  return absl::StrCat(document.dump(2), "\n");
}

}  // namespace

absl::StatusOr<SimulateOutput> RunSimulate(
    const SimulateFlags& flags, const std::string& command,
    const std::function<void(absl::string_view)>& note) {
  PACELINE_ASSIGN_OR_RETURN(const SimulateOptions options,
                            ParseSimulateOptions(flags));
  PlotFile plot;
  PACELINE_RETURN_IF_ERROR(plot.Open("--plot", options.plot));
  std::function<void(const FinishedRun&)> ended;
  if (note != nullptr && options.data != nullptr) {
    ended = [&note](const FinishedRun& run) {
      note(SimulationLine(run.result, run.targets));
    };
  }
  SimulateOutput output;
  std::vector<Json> documents;
  std::vector<Json> drawn;
  std::vector<ComparedRuns> results;
  for (const ComparedRun& run : options.runs)
    results.push_back({.label = run.label});
  const std::vector<PlannedRun> planned = PlanRuns(options);
  auto finished = SimulateAll(options, planned, ended);
  for (size_t i = 0; i < finished.size(); ++i) {
    absl::StatusOr<FinishedRun>& run = finished[i];
    output.status.Update(run.status());
    if (!run.ok()) continue;
    if (!run->result.complete) {
      output.status.Update(absl::AbortedError(
          absl::StrCat(run->result.paradigm, " could not go on to the end")));
    }
    documents.push_back(SimulationRun(run->result));
    SetTargets(run->targets, documents.back());
    if (options.repeat > 1) documents.back()["seed"] = planned[i].seed;
    results[i % results.size()].runs.push_back(documents.back());
    if (!run->drawn.is_null()) drawn.push_back(std::move(run->drawn));
  }
  std::erase_if(results,
                [](const ComparedRuns& of) { return of.runs.empty(); });
  output.status.Update(plot.Write(
      std::move(drawn), {.heading = "paceline simulate", .command = command}));
  output.text = Text(options, documents, results);
  return output;
}

}  // namespace paceline
