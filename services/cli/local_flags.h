#ifndef PACELINE_SERVICES_CLI_LOCAL_FLAGS_H_
#define PACELINE_SERVICES_CLI_LOCAL_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace paceline {

// The flags of `paceline local` as they were typed; the values shown are the
// defaults. ParseLocalOptions() (local_options.h) says which are acceptable.
struct LocalFlags {
  std::string model = "lenet5";
  std::string data = "synthetic:shapes";
  int64_t workers = 4;
  int64_t servers = 2;
  int64_t epochs = 1;
  double max_seconds = 0;
  std::vector<std::string> paradigms;  // None: "bsp".
  std::vector<std::string> switch_at;
  std::string batching = "even";
  int64_t batch_size = 32;
  int64_t micro_batch = 0;
  double learning_rate = 0.005;
  std::string optimizer = "sgd:momentum=0.9";
  // Rounds of several workers and stale gradients both want it lower at the
  // end.
  std::string schedule = "step:at=0.6|0.85,factor=0.3";
  std::string round_strength = "linear";
  std::string seed = "1";  // CLI11 would take -1 for a large number.
  std::string wire = "fp32";
  std::string lease = "10s";
  int64_t eval_every = 0;  // 0: a twentieth of an epoch.
  bool defer_eval = false;
  double target_accuracy = 0;  // 0: none.
  bool stop_at_target = false;
  std::string slowdown;
  std::string step_time;
  std::vector<std::string> delay;
  std::vector<std::string> pause;
  int64_t threads = 1;
  int64_t port = 0;
  std::string run_dir;
  std::string output = "table";
};

// Makes `command` fill `flags`, with help and examples.
void AddLocalFlags(CLI::App& command, LocalFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_LOCAL_FLAGS_H_
