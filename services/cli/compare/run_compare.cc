#include "services/cli/compare/run_compare.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/job/job_defaults.h"
#include "common/status.h"
#include "services/cli/compare/comparison.h"
#include "services/cli/compare/median_curve.h"
#include "services/cli/compare/rate_grid.h"
#include "services/cli/flag_values.h"
#include "services/cli/plot/plot_file.h"
#include "services/cli/simulated_runs.h"
#include "services/cli/simulation_report.h"

namespace paceline {
namespace {

constexpr char kFooterOfCompare[] = R"(
Examples:
  # Eight rules on four workers, one of them four times slower:
  paceline compare --iteration-times 1,1,1,4 --train lenet5 --data mnist:DIR \
      --target-accuracy 0.97 --plot page.html

  # On the workers of a recorded run, each rule at the best of six settings:
  paceline local --record times.jsonl --paradigm asp
  paceline compare --trace times.jsonl --target-accuracy 0.9 \
      --rates 0.002,0.005,0.01 --momenta 0,0.9

  # Two rules with ten seeds, and what they have learned after two minutes:
  paceline compare --paradigm asp --paradigm cgp --repeat 10 --at-time 2m

The model is a built-in one, trained for real in virtual time.
A program of your own cannot run there.
The paces of your workers can: record a run of it, and give that as --trace.
Profiles, jitters and traces are those of `paceline simulate`.

Exit codes: 0 success; 1 a run failed or could not end; 2 a flag or an input is
  wrong; 3 the trace or the data do not exist; 4 the page cannot be written.
Progress and errors go to standard error, results alone to standard output.
The same flags give the same results, byte for byte.)";

// As many would take days.
constexpr size_t kMostRuns = 1000;
constexpr int64_t kMostNanos = int64_t{365} * 86'400 * 1'000'000'000;

std::vector<std::string> UsualRules() {
  return {"bsp",
          "bsp,batching=balanced",
          "bsp:steal=true",
          "asp",
          "dssp",
          "cgp",
          "saps",
          "auto"};
}

// What was asked for, checked before any run.
struct CompareOptions {
  SimulateOptions simulate;
  std::vector<GridPoint> grid;
  std::optional<double> at_seconds;
};

absl::StatusOr<CompareOptions> ParseCompareOptions(CompareFlags flags) {
  if (flags.train.empty()) {
    return absl::InvalidArgumentError(
        "--train: rules are compared by what they learn; give a model");
  }
  if (flags.target_accuracy.size() > 1) {
    return absl::InvalidArgumentError(
        "--target-accuracy: rules are compared by the time to one target");
  }
  if (!flags.rates.empty() && flags.learning_rate != JobFlags().learning_rate) {
    return absl::InvalidArgumentError(
        "--rates contradicts --learning-rate: give one of them");
  }
  if (flags.paradigms.empty()) flags.paradigms = UsualRules();
  if (flags.rates.empty()) flags.rates = {flags.learning_rate};
  CompareOptions options;
  PACELINE_ASSIGN_OR_RETURN(
      const OptimizerSpec optimizer,
      Annotate(ParseOptimizerSpec(flags.optimizer),
               absl::StrCat("--optimizer ", flags.optimizer)));
  PACELINE_ASSIGN_OR_RETURN(options.grid,
                            PlanGrid(flags.rates, flags.momenta, optimizer));
  if (!flags.at_time.empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        const int64_t at,
        ParseNanos("--at-time", flags.at_time, 1, kMostNanos));
    options.at_seconds = ToSeconds(at);
  }
  PACELINE_ASSIGN_OR_RETURN(options.simulate, ParseSimulateOptions(flags));
  const size_t runs = options.simulate.runs.size() * options.grid.size() *
                      options.simulate.repeat;
  if (runs > kMostRuns) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.simulate.runs.size(), " rules, ", options.grid.size(),
        " settings of --rates and --momenta and --repeat ",
        options.simulate.repeat, " make ", runs, " runs; at most ", kMostRuns));
  }
  return options;
}

// In the order of ByTurns(); an option is a rule at a point of the grid.
std::vector<PlannedRun> PlanComparison(const CompareOptions& options) {
  const size_t points = options.grid.size();
  std::vector<PlannedRun> planned;
  for (const RepeatedRun& run :
       ByTurns(options.simulate.runs.size() * points, options.simulate.repeat,
               options.simulate.cluster.seed)) {
    const GridPoint& point = options.grid[run.option % points];
    planned.push_back({.run = options.simulate.runs[run.option / points],
                       .seed = run.seed,
                       .draws = run.turn == 0 && !options.simulate.plot.empty(),
                       .step = RunStep{point.learning_rate, point.optimizer}});
  }
  return planned;
}

std::string StepText(const GridPoint& point) {
  std::string text = absl::StrFormat("rate %g", point.learning_rate);
  if (!point.momentum.empty()) {
    absl::StrAppend(&text, ", momentum ", point.momentum);
  }
  return text;
}

// All options without their runs.
std::vector<TriedRule> Untried(const CompareOptions& options) {
  std::vector<TriedRule> tried;
  for (const ComparedRun& rule : options.simulate.runs) {
    for (const GridPoint& point : options.grid) {
      tried.push_back({.option = tried.size(),
                       .learning_rate = point.learning_rate,
                       .momentum = point.momentum,
                       .runs = {.label = rule.label, .runs = {}}});
    }
  }
  return tried;
}

// A run's document, as the table and JSON have it.
Json DocumentOf(const FinishedRun& finished, const PlannedRun& planned,
                const GridPoint& point) {
  Json run = SimulationRun(finished.result);
  SetTargets(finished.targets, run);
  run["seed"] = planned.seed;
  run["learning_rate"] = point.learning_rate;
  run["momentum"] = MomentumJson(point.momentum);
  return run;
}

// The page shows the chosen rules. `drawn`: the first runs, by option; null: it
// failed.
std::vector<Json> DrawnRules(const CompareOptions& options,
                             const Comparison& comparison,
                             std::vector<Json> drawn) {
  std::vector<Json> rules;
  for (const size_t chosen : comparison.chosen) {
    const TriedRule& rule = comparison.tried[chosen];
    if (drawn[rule.option].is_null()) continue;
    Json& shown =
        rules.emplace_back(DrawnRule(std::move(drawn[rule.option]), rule.runs));
    if (options.grid.size() == 1) continue;
    shown["name"] = absl::StrCat(
        rule.runs.label, " (",
        StepText(options.grid[rule.option % options.grid.size()]), ")");
  }
  return rules;
}

// "1 run", "4 runs".
std::string Count(size_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// What is said of each run that has ended.
std::function<void(const FinishedRun&)> NoteTo(
    const CompareOptions& options, const std::vector<PlannedRun>& planned,
    const std::function<void(absl::string_view)>& note,
    const std::function<absl::Time()>& now) {
  if (note == nullptr) return nullptr;
  note(absl::StrCat(Count(planned.size(), "run"), ": ",
                    Count(options.simulate.runs.size(), "rule"), ", ",
                    Count(options.grid.size(), "setting"),
                    " of rate and momentum, ",
                    Count(options.simulate.repeat, "seed")));
  return [&options, &planned, note, now, began = now(),
          ended = size_t{0}](const FinishedRun& run) mutable {
    ++ended;
    const size_t option =
        run.index % (options.simulate.runs.size() * options.grid.size());
    note(absl::StrCat(ProgressOf(ended, planned.size(), now() - began), ": ",
                      SimulationLine(run.result, run.targets), " (",
                      StepText(options.grid[option % options.grid.size()]),
                      ", seed ", planned[run.index].seed, ")"));
  };
}

// What came of all runs.
struct Results {
  std::vector<TriedRule> tried;  // All options.
  std::vector<Json> drawn;       // The first run of each.
  Json runs = Json::array();     // In the order of the runs.
  absl::Status status;           // The first failure.
};

Results Simulated(const CompareOptions& options,
                  const std::vector<PlannedRun>& planned,
                  const std::function<void(const FinishedRun&)>& ended) {
  Results results = {.tried = Untried(options)};
  const size_t all = results.tried.size();
  results.drawn.resize(all);
  auto finished = SimulateAll(options.simulate, planned, ended);
  for (size_t i = 0; i < finished.size(); ++i) {
    absl::StatusOr<FinishedRun>& run = finished[i];
    results.status.Update(run.status());
    if (!run.ok()) continue;
    if (!run->result.complete) {
      results.status.Update(absl::AbortedError(
          absl::StrCat(run->result.paradigm, " could not go on to the end")));
    }
    const size_t option = i % all;
    results.runs.push_back(DocumentOf(
        *run, planned[i], options.grid[option % options.grid.size()]));
    results.tried[option].runs.runs.push_back(results.runs.back());
    if (planned[i].draws) results.drawn[option] = std::move(run->drawn);
  }
  return results;
}

// What the page does not show.
std::string LeftOut(const CompareOptions& options) {
  if (options.simulate.repeat == 1) return "";
  return absl::StrCat(
      "Figures and curves are medians of ", options.simulate.repeat,
      " seeds, and what is shaded lies between the least and the most; "
      "timelines, histograms and staleness are of the first seed.");
}

}  // namespace

std::string ProgressOf(size_t ended, size_t all, absl::Duration elapsed) {
  const absl::Duration left =
      elapsed / static_cast<double>(ended) * static_cast<double>(all - ended);
  return absl::StrCat(ended, "/", all, ", about ",
                      absl::FormatDuration(absl::Ceil(left, absl::Seconds(1))),
                      " left");
}

CompareFlags::CompareFlags() {
  train = std::string(kDefaultModel);
  repeat = 3;
}

void AddCompareFlags(CLI::App& command, CompareFlags& flags) {
  AddSimulateFlags(command, flags);
  // They say how long a run is that trains nothing.
  command.remove_option(command.get_option("--samples"));
  command.remove_option(command.get_option("--iterations"));
  command
      .add_option("--rates", flags.rates,
                  "Try each rule with these learning rates, with commas "
                  "between them, and compare it at its best one. Default: "
                  "--learning-rate alone.")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->default_str("")
      ->type_name("RATES");
  command
      .add_option("--momenta", flags.momenta,
                  "Try each rule with these momenta, too, as 0,0.9,auto. They "
                  "take the place of that of --optimizer. Default: that one "
                  "alone.")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->default_str("")
      ->type_name("MOMENTA");
  command
      .add_option("--at-time", flags.at_time,
                  "Compare what the rules have learned after this virtual "
                  "time. Default: when the first rule has reached the target, "
                  "or the first run has ended.")
      ->default_str("")
      ->type_name("DURATION");
  command.get_option("--paradigm")
      ->description(
          "Compare this rule. May be given again. The others are compared "
          "with the first one. Default: bsp, balanced and stealing bsp, asp, "
          "dssp, cgp, saps and auto.")
      ->default_str("");
  command.get_option("--train")
      ->description(absl::StrCat("Train this model for real, on the virtual "
                                 "clock. ",
                                 ModelsHelp()))
      ->default_str(std::string(kDefaultModel));
  command.get_option("--repeat")
      ->description(
          "Runs of each rule at each rate and momentum, with the seeds from "
          "--seed on.");
  command.footer(kFooterOfCompare);
}

absl::StatusOr<SimulateOutput> RunCompare(
    CompareFlags flags, const std::string& command,
    const std::function<void(absl::string_view)>& note,
    const std::function<absl::Time()>& now) {
  PACELINE_ASSIGN_OR_RETURN(const CompareOptions options,
                            ParseCompareOptions(flags));
  PlotFile plot;
  PACELINE_RETURN_IF_ERROR(plot.Open("--plot", options.simulate.plot));
  const std::vector<PlannedRun> planned = PlanComparison(options);
  Results results =
      Simulated(options, planned, NoteTo(options, planned, note, now));
  const Comparison comparison = Compare(
      std::move(results.tried), options.grid.size(), options.at_seconds);
  SimulateOutput output;
  output.status = std::move(results.status);
  output.status.Update(plot.Write(
      DrawnRules(options, comparison, std::move(results.drawn)),
      {.heading = "paceline compare", .command = command}, LeftOut(options)));
  if (!options.simulate.json) {
    output.text = ComparisonText(comparison);
    return output;
  }
  Json document = ComparisonJson(comparison);
  document["runs"] = std::move(results.runs);
  output.text = absl::StrCat(document.dump(2), "\n");
  return output;
}

}  // namespace paceline
