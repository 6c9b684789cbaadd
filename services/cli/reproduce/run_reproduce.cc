#include "services/cli/reproduce/run_reproduce.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/job_defaults.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/cli/reproduce/experiment.h"
#include "services/cli/reproduce/reproduction.h"
#include "services/cli/simulated_runs.h"
#include "services/cli/simulation_report.h"

namespace paceline {
namespace {

constexpr char kFooterOfReproduce[] = R"(
Experiments:
  dssp-fig3    four equal workers under BSP, ASP, SSP s=3..15 and DSSP
  dssp-resnet  the same where an update takes long at the servers
  dssp-table1  two workers of unequal speed, the seconds to two accuracies
  cgp          CGP against four rules, on five kinds of clusters
  saps         SaPS against six rules, on five kinds of clusters

Examples:
  # What the abstract of CGP's paper claims, on MNIST, with three seeds:
  paceline reproduce cgp --data mnist:DIR --repeat 3

  # How much of Table I is due to a schedule that counts updates:
  paceline reproduce dssp-table1 \
      --schedule 'step:at=0.6|0.85,factor=0.3,count=updates'

  # Table I of DSSP's paper at its sizes; on processors it takes very long:
  paceline reproduce dssp-table1 --full \
      --data cifar100:DIR,augment=crop28_flip

Exit codes: 0 success; 1 a run failed or could not end; 2 a flag or an input is
  wrong; 3 the data do not exist.
Runs take place in virtual time and differ in no byte from one call to the next.
Progress and errors go to standard error, results alone to standard output.)";

std::vector<std::string> ExperimentNames() {
  std::vector<std::string> names;
  for (const Experiment& experiment : Experiments()) {
    names.push_back(experiment.name);
  }
  return names;
}

absl::StatusOr<ExperimentScale> ScaleOf(const Experiment& experiment,
                                        const ReproduceFlags& flags) {
  ExperimentScale scale = flags.full ? experiment.full : experiment.reduced;
  if (flags.full && scale.model.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--full: of the paper of ", experiment.name,
        " only the abstract is public, which has no sizes; give --model, "
        "--data and --epochs"));
  }
  if (!flags.model.empty()) scale.model = flags.model;
  if (!flags.data.empty()) scale.data = flags.data;
  if (flags.epochs > 0) scale.epochs = flags.epochs;
  if (flags.batch_size > 0) scale.batch_size = flags.batch_size;
  if (!flags.schedule.empty()) scale.schedule = flags.schedule;
  if (!flags.data_assignment.empty()) {
    scale.data_assignment = flags.data_assignment;
  }
  if (!flags.target_accuracy.empty()) {
    scale.target_accuracies = flags.target_accuracy;
  }
  if (flags.data.empty() && absl::StrContains(scale.data, ":DIR")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--full needs --data ", scale.data));
  }
  return scale;
}

// The same runs as flags of `paceline simulate`.
SimulateFlags FlagsOf(const Experiment& experiment,
                      const ExperimentCluster& cluster,
                      const ExperimentScale& scale,
                      const ReproduceFlags& flags) {
  SimulateFlags simulate;
  simulate.workers = cluster.workers;
  simulate.profile = cluster.profile;
  simulate.iteration_times = cluster.iteration_times;
  if (!cluster.jitter.empty()) simulate.jitter = {cluster.jitter};
  simulate.server_update_time = cluster.server_update_time;
  simulate.train = scale.model;
  simulate.data = scale.data;
  simulate.epochs = scale.epochs;
  simulate.batch_size = scale.batch_size;
  simulate.learning_rate = scale.learning_rate;
  simulate.schedule = scale.schedule;
  simulate.data_assignment = scale.data_assignment;
  simulate.target_accuracy = scale.target_accuracies;
  // An iteration takes seconds; a member that computes is alive.
  simulate.lease = "10m";
  simulate.seed = flags.seed;
  simulate.repeat = flags.repeat;
  simulate.output = flags.output;
  for (const ExperimentRule& rule : experiment.rules) {
    for (const std::string& paradigm : rule.paradigms) {
      simulate.paradigms.push_back(paradigm);
    }
  }
  return simulate;
}

// `finished` is in the order of ByTurns().
absl::StatusOr<ClusterRuns> Sorted(
    const Experiment& experiment, const ExperimentCluster& cluster,
    size_t repeat, const std::vector<absl::StatusOr<FinishedRun>>& finished) {
  ClusterRuns runs = {.cluster = cluster.name};
  runs.rules.assign(experiment.rules.size(),
                    std::vector<std::vector<Json>>(repeat));
  size_t next = 0;
  for (size_t turn = 0; turn < repeat; ++turn) {
    for (size_t i = 0; i < experiment.rules.size(); ++i) {
      for (const std::string& paradigm : experiment.rules[i].paradigms) {
        const absl::StatusOr<FinishedRun>& run = finished[next++];
        PACELINE_RETURN_IF_ERROR(Annotate(run.status(), cluster.name));
        if (!run->result.complete) {
          return absl::AbortedError(absl::StrCat(
              cluster.name, ": ", paradigm, " could not go on to the end"));
        }
        Json document = SimulationRun(run->result);
        SetTargets(run->targets, document);
        runs.rules[i][turn].push_back(std::move(document));
      }
    }
  }
  return runs;
}

absl::StatusOr<ClusterRuns> RunCluster(
    const Experiment& experiment, const ExperimentCluster& cluster,
    const SimulateOptions& options,
    const std::function<void(absl::string_view)>& note) {
  std::function<void(const FinishedRun&)> ended;
  if (note != nullptr) {
    ended = [&](const FinishedRun& run) {
      note(absl::StrCat(cluster.name, ": ",
                        SimulationLine(run.result, run.targets)));
    };
  }
  return Sorted(experiment, cluster, options.repeat,
                SimulateAll(options, PlanRuns(options), ended));
}

// What takes the place of the experiment's.
void AddScaleFlags(CLI::App& command, ReproduceFlags& flags) {
  command
      .add_option("--data", flags.data,
                  "The data to train on, as mnist:DIR. Default: drawn images, "
                  "synthetic:shapes.")
      ->default_str("")
      ->type_name("DATA");
  command
      .add_option("--model", flags.model,
                  absl::StrCat("The model to train. ", ModelsHelp(),
                               " Default: that of the experiment."))
      ->default_str("")
      ->type_name("MODEL");
  command
      .add_option("--epochs", flags.epochs,
                  "Passes over the training data. 0: as many as the "
                  "experiment has.")
      ->type_name("N");
  command
      .add_option("--batch-size", flags.batch_size,
                  "Samples of a push. 0: as many as the experiment has.")
      ->type_name("SAMPLES");
  command
      .add_option("--schedule", flags.schedule,
                  "How the learning rate changes, as "
                  "step:at=0.5,factor=0.1,count=updates. Default: that of the "
                  "experiment.")
      ->default_str("")
      ->type_name("SCHEDULE");
  command
      .add_option("--data-assignment", flags.data_assignment,
                  "dynamic: a worker gets the samples that come next. static: "
                  "each worker computes an equal part of its own in every "
                  "epoch. Default: that of the experiment.")
      ->default_str("")
      ->type_name("ASSIGNMENT");
  command
      .add_option("--target-accuracy", flags.target_accuracy,
                  "Measure the seconds until these accuracies are reached, "
                  "with commas between them. Default: those of the "
                  "experiment.")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->default_str("")
      ->type_name("SHARES");
}

}  // namespace

void AddReproduceFlags(CLI::App& command, ReproduceFlags& flags) {
  command.option_defaults()->always_capture_default();
  command
      .add_option(
          "EXPERIMENT", flags.experiment,
          absl::StrCat("One of ", absl::StrJoin(ExperimentNames(), ", "), "."))
      ->required()
      ->type_name("");
  command.add_flag("--full", flags.full,
                   "Train what the paper has trained, for as long. Default: a "
                   "small task that ends in minutes.");
  AddScaleFlags(command, flags);
  command
      .add_option("--repeat", flags.repeat,
                  "Runs of each paradigm, with the seeds from --seed on.")
      ->type_name("N");
  command
      .add_option("--seed", flags.seed,
                  "Seed of all random numbers: first weights, order of samples "
                  "and times.")
      ->type_name("N");
  command
      .add_option("-o,--output", flags.output,
                  "Form of the results: table or json.")
      ->type_name("FORMAT");
  command.footer(kFooterOfReproduce);
}

absl::StatusOr<SimulateOutput> RunReproduce(
    const ReproduceFlags& flags,
    const std::function<void(absl::string_view)>& note) {
  const Experiment* const experiment = FindExperiment(flags.experiment);
  if (experiment == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no experiment \"", flags.experiment,
                     "\"; there are ", absl::StrJoin(ExperimentNames(), ", ")));
  }
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--epochs", flags.epochs, 0, kEpochsMax));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--batch-size", flags.batch_size, 0, kBatchMax));
  PACELINE_ASSIGN_OR_RETURN(ExperimentScale scale, ScaleOf(*experiment, flags));
  // All before any run.
  std::vector<SimulateOptions> options;
  for (const ExperimentCluster& cluster : experiment->clusters) {
    PACELINE_ASSIGN_OR_RETURN(
        options.emplace_back(),
        ParseSimulateOptions(FlagsOf(*experiment, cluster, scale, flags)));
    // One copy of the data is enough.
    options.back().data = options.front().data;
  }
  scale.target_accuracies = options.front().target_accuracies;
  std::vector<ClusterFigures> figures;
  for (size_t i = 0; i < options.size(); ++i) {
    PACELINE_ASSIGN_OR_RETURN(
        const ClusterRuns runs,
        RunCluster(*experiment, experiment->clusters[i], options[i], note));
    figures.push_back(FiguresOf(runs, scale.target_accuracies.size()));
  }
  const Reproduction what = {.experiment = experiment,
                             .scale = std::move(scale),
                             .is_full = flags.full,
                             .repeat = options.front().repeat};
  SimulateOutput output;
  output.text =
      flags.output == "json"
          ? absl::StrCat(ReproductionJson(what, figures).dump(2), "\n")
          : ReproductionText(what, figures);
  return output;
}

}  // namespace paceline
