#ifndef PACELINE_SERVICES_CLI_ADVICE_H_
#define PACELINE_SERVICES_CLI_ADVICE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "services/cli/json_fields.h"
#include "services/cli/spread.h"
#include "services/simulator/simulation_result.h"

namespace paceline {

// What one paradigm came to in several runs that differ in their chance alone.
struct AdvisedOption {
  std::string label;  // As it is typed behind --paradigm.
  size_t runs = 0;
  Spread samples_per_second;  // That are trained on, in virtual time.
  Spread staleness;           // The mean of each run.
  // Of the runs that trained; nothing: none has.
  std::optional<Spread> accuracy;  // At the end.
  // Runs that did not reach it count as later than all others; nothing: half of
  // them did not, or there is no target.
  std::optional<double> seconds_to_target;
  size_t reached = 0;  // Runs that did.
  // How many times as good as the first one: the target sooner, or, without a
  // target, more samples a second of the same worth as fresh ones
  // (WorthOfStale). Nothing: one of the two never reached the target.
  std::optional<double> speed_up;
};

// `results` has the results of each label, complete or not.
struct AdvisedRuns {
  std::string label;
  std::vector<SimulationResult> results;
};

// The best first; equals in the order of `runs`, whose first one is what the
// others are compared with. REQUIRES: each has a result.
std::vector<AdvisedOption> RankOptions(const std::vector<AdvisedRuns>& runs,
                                       size_t workers, bool to_target);

// What that says in words, for people: the flag to use, and what it brings.
// `first`: the label of what the others were compared with.
std::string Conclusion(const std::vector<AdvisedOption>& ranked,
                       const std::string& first);

// Lines for people.
std::string AdviceTable(const std::vector<AdvisedOption>& ranked,
                        const std::string& first);

// {"options": [...], "compared_with", "advised"}: the same for programs.
Json AdviceJson(const std::vector<AdvisedOption>& ranked,
                const std::string& first);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADVICE_H_
