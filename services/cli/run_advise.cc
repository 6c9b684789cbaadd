#include "services/cli/run_advise.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/advice.h"
#include "services/cli/plot/plot_file.h"
#include "services/cli/simulated_runs.h"
#include "services/cli/simulation_report.h"
#include "services/coordinator/planner/forecast.h"

namespace paceline {
namespace {

constexpr char kFooterOfAdvise[] = R"(
Examples:
  # What suits the machines of a recorded run:
  paceline local --record times.jsonl --paradigm asp
  paceline advise --trace times.jsonl

  # What would suit the workers of a job on a cluster:
  paceline advise --job mnist

  # Four workers, one four times slower; small batches cost 2 % more each:
  paceline advise --iteration-times 1,1,1,4 --micro-batch-cost 0.02

  # By the seconds to 97 %, trained for real in virtual time:
  paceline advise --trace times.jsonl --train lenet5 --data mnist:DIR \
      --target-accuracy 0.97 --stop-at-target

Profiles, jitters and traces are those of `paceline simulate`.

Exit codes: 0 success; 1 a run failed or could not end; 2 a flag or an input is
  wrong; 3 the trace, the job or the data do not exist; 4 the page cannot be
  written, or nothing is known of the job; 5 denied; 6 the coordinator is away.
The same flags give the same output, byte for byte, but for a job that runs.)";

absl::StatusOr<SimulateOptions> ParseAdviseOptions(AdviseFlags flags) {
  if (!flags.train.empty() && !HasTarget(flags)) {
    return absl::InvalidArgumentError(
        "--train: what is trained is ranked by the time to a target: give "
        "--target-accuracy or --target");
  }
  if (flags.target_accuracy.size() > 1) {
    return absl::InvalidArgumentError(
        "--target-accuracy: paradigms are ranked by the time to one target");
  }
  const bool all = flags.paradigms.empty();
  PACELINE_ASSIGN_OR_RETURN(SimulateOptions options,
                            ParseSimulateOptions(flags));
  if (!all) return options;
  // How many workers there are says a trace, too. The first is what the others
  // are compared with.
  flags.paradigms = ParadigmsFor(options.cluster.workers.size(),
                                 options.cluster.run.ada_scale);
  PACELINE_ASSIGN_OR_RETURN(JobRequest job, ParseJobFlags(flags));
  options.runs = std::move(job.runs);
  return options;
}

}  // namespace

void AddAdviseFlags(CLI::App& command, AdviseFlags& flags) {
  AddSimulateFlags(command, flags);
  command.get_option("--repeat")
      ->description("Runs of each paradigm, with the seeds from --seed on.");
  command.get_option("--paradigm")
      ->description(
          "Rank this paradigm. May be given again. The others are compared "
          "with the first one. Default: all that are worth a try.")
      ->default_str("");
  command.footer(kFooterOfAdvise);
}

absl::StatusOr<SimulateOutput> RunAdvise(
    AdviseFlags flags, const std::string& command,
    const std::function<void(absl::string_view)>& note) {
  PACELINE_ASSIGN_OR_RETURN(const SimulateOptions options,
                            ParseAdviseOptions(flags));
  PlotFile plot;
  PACELINE_RETURN_IF_ERROR(plot.Open("--plot", options.plot));
  std::function<void(const FinishedRun&)> ended;
  if (note != nullptr && options.data != nullptr) {
    ended = [&note](const FinishedRun& run) {
      note(SimulationLine(run.result, run.targets));
    };
  }
  SimulateOutput output;
  std::vector<AdvisedRuns> advised(options.runs.size());
  std::vector<Json> drawn;
  const std::vector<PlannedRun> planned = PlanRuns(options);
  auto finished = SimulateAll(options, planned, ended);
  for (size_t i = 0; i < finished.size(); ++i) {
    PACELINE_RETURN_IF_ERROR(finished[i].status());
    FinishedRun& run = *finished[i];
    if (!run.result.complete) {
      output.status.Update(absl::AbortedError(
          absl::StrCat(run.result.paradigm, " could not go on to the end")));
    }
    if (!run.drawn.is_null()) drawn.push_back(std::move(run.drawn));
    AdvisedRuns& of = advised[i % options.runs.size()];
    of.label = run.result.paradigm;
    of.results.push_back(std::move(run.result));
  }
  output.status.Update(plot.Write(
      std::move(drawn), {.heading = "paceline advise", .command = command}));
  const std::string& first = advised.front().label;
  const std::vector<AdvisedOption> ranked =
      RankOptions(advised, options.cluster.workers.size(), HasTarget(flags));
  output.text =
      options.json
          ? absl::StrCat(AdviceJson(ranked, first).dump(2), "\n")
          : absl::StrCat(AdviceTable(ranked, first), Conclusion(ranked, first));
  return output;
}

}  // namespace paceline
