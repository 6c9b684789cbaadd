#ifndef PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_
#define PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/cli/local_flags.h"
#include "services/cli/switch_flag.h"
#include "services/cli/worker_paces.h"

namespace paceline {

// What `paceline local` was asked to do, checked as far as that is possible
// without looking at files. Fields without a comment are as in
// protos/paceline/v1/types.proto.
struct LocalOptions {
  std::string model;
  std::string data;
  std::vector<std::string> paradigms;  // One run each; at least one.
  std::vector<SwitchAt> switches;      // In every run.
  std::string batching;                // "even", "balanced".
  std::string optimizer;
  std::string schedule;
  std::string round_strength;
  std::string wire;       // "fp32", "bf16", "fp16".
  std::string precision;  // "fp32", "tf32", "bf16".
  double learning_rate = 0;
  uint32_t batch_size = 0;
  uint32_t micro_batch = 0;
  uint32_t epochs = 0;
  double max_seconds = 0;
  uint64_t seed = 0;
  int64_t eval_every = 0;  // 0: a twentieth of an epoch.
  bool defer_eval = false;
  double target_accuracy = 0;
  bool stop_at_target = false;
  absl::Duration lease;
  int servers = 0;
  std::vector<WorkerPace> workers;   // One element a worker.
  std::vector<std::string> devices;  // One a worker.
  int threads = 1;                   // Of each worker.
  int port = 0;
  std::string run_dir;  // Empty: to be chosen.
  std::string record;   // Empty: nothing is recorded.
  bool json = false;
};

// INVALID_ARGUMENT, naming the flag, for the first that is wrong, contradicts
// another one or is beyond what one machine can carry. Reads no file.
absl::StatusOr<LocalOptions> ParseLocalOptions(const LocalFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_LOCAL_OPTIONS_H_
