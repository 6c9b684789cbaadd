#ifndef PACELINE_SERVICES_CLI_REPRODUCE_EXPERIMENT_H_
#define PACELINE_SERVICES_CLI_REPRODUCE_EXPERIMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/job/job_defaults.h"

namespace paceline {

// What an experiment of a paper compares, as plain data.

// A line of the tables. Several paradigms count as one: a line has their means,
// as "average SSP" of DSSP's paper.
struct ExperimentRule {
  std::string label;                   // "SSP s=3", as the paper has it.
  std::vector<std::string> paradigms;  // At least one, as behind --paradigm.
  std::vector<std::string> published;  // A cell for each published column.
};

// The workers, as flags of `paceline simulate`.
struct ExperimentCluster {
  std::string name;  // "four speeds"
  int64_t workers = 4;
  std::string profile = "uniform";
  std::string iteration_times;  // Empty: 1s.
  std::string jitter;           // Empty: none.
  std::string server_update_time = "0s";
};

// What is trained, and how long.
struct ExperimentScale {
  std::string model;
  std::string data;
  int64_t epochs = 1;
  int64_t batch_size = 32;
  double learning_rate = 0.01;
  std::string schedule = "constant";
  std::string data_assignment{kDefaultDataAssignment};
  std::vector<double> target_accuracies;  // From the lowest on.
};

// What is measured of one rule against the others, beside the tables; empty
// names: nothing.
struct ExperimentGain {
  size_t ours = 0;                 // The rule.
  std::vector<size_t> others;      // Rules; their mean is compared.
  size_t asynchronous = 0;         // The rule whose accuracy is compared.
  std::string published_time;      // "1.94x on average"; empty: no figure.
  std::string published_accuracy;  // "+16.8 %"; empty: no figure.
};

struct Experiment {
  std::string name;  // As it is typed.
  std::string title;
  // The paper, the place in it, and how much of it is public.
  std::string source;
  std::vector<std::string> published_columns;  // None: only claims.
  std::vector<std::string> claims;             // What the paper says, in words.
  std::vector<ExperimentCluster> clusters;     // At least one.
  std::vector<ExperimentRule> rules;           // The first is the base.
  ExperimentScale full;  // With an empty model: it is not public.
  ExperimentScale reduced;
  bool has_gain = false;
  ExperimentGain gain;
  // How it differs from the paper at any scale.
  std::vector<std::string> differences;
};

// All that there are.
const std::vector<Experiment>& Experiments();

// Null: there is none of that name.
const Experiment* FindExperiment(absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_REPRODUCE_EXPERIMENT_H_
