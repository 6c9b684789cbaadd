#ifndef PACELINE_SERVICES_CLI_LOCAL_FLAGS_H_
#define PACELINE_SERVICES_CLI_LOCAL_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "services/cli/job_flags.h"

namespace paceline {

// The flags of `paceline local` as they were typed; the values shown are the
// defaults. ParseLocalOptions() (local_options.h) says which are acceptable.
struct LocalFlags : JobFlags {
  std::string model{kDefaultModel};
  std::string data{kDefaultData};
  int64_t workers = 4;
  int64_t servers = 2;
  double max_seconds = 0;
  std::string wire = "fp32";
  std::string precision = "fp32";
  bool defer_eval = false;
  std::string slowdown;
  std::string step_time;
  std::vector<std::string> delay;
  std::vector<std::string> pause;
  std::vector<std::string> device;
  int64_t threads = 1;
  int64_t port = 0;
  std::string run_dir;
  std::string record;  // Empty: nothing is recorded.
};

// Makes `command` fill `flags`, with help and examples.
void AddLocalFlags(CLI::App& command, LocalFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_LOCAL_FLAGS_H_
