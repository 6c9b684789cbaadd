#ifndef PACELINE_SERVICES_CLI_REPRODUCE_RUN_REPRODUCE_H_
#define PACELINE_SERVICES_CLI_REPRODUCE_RUN_REPRODUCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/run_simulate.h"

namespace paceline {

// The flags of `paceline reproduce` as they were typed.
struct ReproduceFlags {
  std::string experiment;
  bool full = false;
  // What takes the place of the experiment's; empty or 0: nothing does.
  std::string model;
  std::string data;
  int64_t epochs = 0;
  int64_t batch_size = 0;
  std::string schedule;
  std::string data_assignment;
  std::vector<double> target_accuracy;

  int64_t repeat = 1;
  std::string seed = "1";
  std::string output = "table";
};

// Makes `command` fill `flags`, with help and examples.
void AddReproduceFlags(CLI::App& command, ReproduceFlags& flags);

// Runs a paper's experiment in virtual time, and says what came of it beside
// what the paper says. `note` gets a line for each run.
//
// INVALID_ARGUMENT, naming the flag, for one that is wrong, and of a paper that
// does not say its sizes for --full; else the errors of RunSimulate().
absl::StatusOr<SimulateOutput> RunReproduce(
    const ReproduceFlags& flags,
    const std::function<void(absl::string_view)>& note);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_REPRODUCE_RUN_REPRODUCE_H_
