#ifndef PACELINE_SERVICES_CLI_JOB_FLAGS_H_
#define PACELINE_SERVICES_CLI_JOB_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"

namespace paceline {

// The flags that describe a job, as they were typed, whether it runs on
// processes or in virtual time; the values shown are the defaults.
struct JobFlags {
  std::vector<std::string> paradigms;  // None: "bsp".
  std::vector<std::string> switch_at;
  std::string batching = "even";
  int64_t epochs = 1;
  int64_t batch_size = 32;
  int64_t micro_batch = 0;
  double learning_rate = 0.005;
  std::string optimizer = "sgd:momentum=0.9";
  // Rounds of several workers and stale gradients both want it lower at the
  // end.
  std::string schedule = "step:at=0.6|0.85,factor=0.3";
  std::string round_strength = "linear";
  std::string seed = "1";      // CLI11 would take -1 for a large number.
  int64_t eval_every = 0;      // 0: a twentieth of an epoch.
  double target_accuracy = 0;  // 0: none.
  bool stop_at_target = false;
  std::string lease = "10s";
  std::string output = "table";
};

// What paradigms, optimizers and schedules look like, for the end of a help
// page.
inline constexpr char kJobFlagsHelp[] =
    R"(Paradigms, each with its defaults (docs/paradigms.md has all parameters):
  bsp, asp, ssp:s=3, dssp:lower=3,upper=15,mode=paper|exact|bounded, cgp,
  saps:mode=refresh|damp|drop, ksync, kbatchsync, backup, kasync, kbatchasync,
  psp, elastic, abs, syncswitch
Optimizers: sgd:momentum=0.9,nesterov=true,weight_decay=5e-4, adam, adamw
Schedules: constant, step:at=0.5|0.75,factor=0.1, either with warmup=0.1
Durations are written 20ms, 1.5s, 2m)";

// Makes `command` fill `flags`, with help.
void AddJobFlags(CLI::App& command, JobFlags& flags);

// INVALID_ARGUMENT, naming the flag, for the first that is wrong by itself.
// Lists of switches, seed and lease are left to their readers.
absl::Status CheckJobFlags(const JobFlags& flags);

// Samples between evaluations: what --eval-every means for so many samples of
// one epoch.
int64_t EvaluationInterval(int64_t eval_every, int64_t train_samples);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_JOB_FLAGS_H_
