#ifndef PACELINE_SERVICES_CLI_REPRODUCE_REPRODUCTION_H_
#define PACELINE_SERVICES_CLI_REPRODUCE_REPRODUCTION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "services/cli/json_fields.h"
#include "services/cli/reproduce/experiment.h"
#include "services/cli/spread.h"

namespace paceline {

// What came of an experiment, from the documents of its runs to tables beside
// the paper's. Pure; thread-safe.

// The runs on one cluster, as SimulationRun() and SetTargets() make them:
// [rule][seed][paradigm of the rule].
struct ClusterRuns {
  std::string cluster;
  std::vector<std::vector<std::vector<Json>>> rules;
};

// What one rule came to on one cluster, each over the seeds; of several
// paradigms the mean.
struct RuleFigures {
  std::vector<Spread> to_targets;  // Infinite: never reached.
  Spread seconds;                  // Of the whole run.
  Spread accuracy;                 // At the end: at equal samples.
  Spread accuracy_at_time;         // When the first of all runs ended.
};

struct ClusterFigures {
  std::string cluster;
  double equal_seconds = 0;  // When the first of all runs ended.
  std::vector<RuleFigures> rules;
};

// REQUIRES: every rule has a run for each seed, of `targets` targets.
ClusterFigures FiguresOf(const ClusterRuns& runs, size_t targets);

// How many times as long one takes as another.
struct Ratio {
  double times = 0;
  // Somebody has never got there, and counts with the seconds of its whole run.
  bool at_least = false;
};

// How many times as long the mean of the others takes to the first target as
// ours; nothing: ours has never reached it.
std::optional<Ratio> TimeGain(const ExperimentGain& gain,
                              const ClusterFigures& figures);

// What was asked for of an experiment.
struct Reproduction {
  const Experiment* experiment = nullptr;
  ExperimentScale scale;
  bool is_full = false;
  size_t repeat = 1;
};

// For people: the paper's claims and columns beside what was measured, then
// what was reduced and what is different.
std::string ReproductionText(const Reproduction& what,
                             const std::vector<ClusterFigures>& figures);

// The same for programs: {"experiment", "source", "claims", "clusters", "gain",
// "reduced", "differences"}.
Json ReproductionJson(const Reproduction& what,
                      const std::vector<ClusterFigures>& figures);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_REPRODUCE_REPRODUCTION_H_
