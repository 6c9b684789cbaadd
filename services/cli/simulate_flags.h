#ifndef PACELINE_SERVICES_CLI_SIMULATE_FLAGS_H_
#define PACELINE_SERVICES_CLI_SIMULATE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "services/cli/job_flags.h"

namespace paceline {

// The flags of `paceline simulate` as they were typed; the values shown are the
// defaults. ParseSimulateOptions() (simulate_options.h) says which are
// acceptable.
struct SimulateFlags : JobFlags {
  int64_t workers = 0;          // 0: as many as the lists say, or 4.
  std::string iteration_times;  // Empty: "1s".
  std::string profile = "uniform";
  std::vector<std::string> jitter;
  std::string trace;

  std::string duration;    // Empty: until all samples are counted.
  int64_t iterations = 0;  // Of these three at most one is given.
  int64_t samples = 0;

  std::string train;  // A model; empty: nothing is trained.
  std::string data;   // Empty: "synthetic:shapes".
  std::string plot;   // Empty: nothing is drawn.

  int64_t servers = 1;
  std::string latency = "0s";
  std::string bandwidth;    // Empty: infinite.
  std::string model_bytes;  // Empty: 0, or what is trained has.
  std::string join;
  std::string leave;
  std::string crash;
};

// Makes `command` fill `flags`, with help and examples.
void AddSimulateFlags(CLI::App& command, SimulateFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SIMULATE_FLAGS_H_
