#ifndef PACELINE_SERVICES_CLI_JOB_FLAGS_H_
#define PACELINE_SERVICES_CLI_JOB_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/job/job_defaults.h"
#include "common/job/paradigm_spec.h"
#include "protos/paceline/v1/types.pb.h"

namespace paceline {

// The flags that describe a job, as they were typed, whether it runs on
// processes or in virtual time; the values shown are the defaults.
struct JobFlags {
  std::vector<std::string> paradigms;  // None: the default one.
  std::vector<std::string> switch_at;
  std::string batching{kDefaultBatching};
  std::string data_assignment{kDefaultDataAssignment};
  int64_t epochs = kDefaultEpochs;
  int64_t batch_size = kDefaultBatchSize;
  int64_t micro_batch = 0;
  double learning_rate = kDefaultLearningRate;
  std::string optimizer{kDefaultOptimizer};
  std::string schedule{kDefaultSchedule};
  std::string round_strength{kDefaultRoundStrength};
  std::string seed = "1";  // CLI11 would take -1 for a large number.
  int64_t repeat = 1;
  int64_t eval_every = 0;               // 0: a twentieth of an epoch.
  std::vector<double> target_accuracy;  // None, or 0 alone: none.
  std::string target;                   // Empty: none.
  bool stop_at_target = false;
  std::string lease = absl::FormatDuration(kDefaultLease);
  std::string output = "table";
};

// This shows what paradigms, optimizers and schedules look like, for the end of
// a help page.
inline constexpr char kJobFlagsHelp[] =
    R"(Paradigms, each with its defaults (docs/paradigms.md has all parameters):
  bsp, asp, ssp:s=3, dssp:lower=3,upper=15,mode=exact|bounded|printed, cgp,
  saps:mode=refresh|damp|drop, ksync, kbatchsync, backup, kasync, kbatchasync,
  psp, elastic, abs, syncswitch. Example with a batching: bsp,batching=balanced
Optimizers: sgd:momentum=0.9,nesterov=true,weight_decay=5e-4, sgd:momentum=auto,
  adam, adamw.
  Each takes no_decay=norms_and_biases beside a weight_decay.
Schedules: constant, step:at=0.5|0.75,factor=0.1. Each takes warmup=0.1, and
  count=updates, as papers have it: shares are of (all samples / batch size).
Durations are written 20ms, 1.5s, 2m. A plain number is in seconds)";

// Whether the flags name a target, whatever the metric.
bool HasTarget(const JobFlags& flags);

// Makes `command` fill `flags`, with help.
void AddJobFlags(CLI::App& command, JobFlags& flags);

// A paradigm that takes over after a share of the samples.
struct SwitchAt {
  double share = 0;  // In [0, 1).
  std::string text;  // The paradigm, as it was typed.
  ParadigmSpec paradigm;
};

// The values of --switch-at, "30%=asp", sorted by share. INVALID_ARGUMENT,
// naming the flag, for another form, a share outside [0, 100) and a paradigm
// that does not exist.
absl::StatusOr<std::vector<SwitchAt>> ParseSwitches(
    const std::vector<std::string>& values);

// One of the runs that a command compares.
struct ComparedRun {
  std::string label;  // The value of --paradigm, as it was typed.
  std::string text;   // The paradigm's spec alone.
  ParadigmSpec paradigm;
  bool automatic = false;  // It is "auto": `paradigm` is the first.
  // This is what stands behind the paradigm, "bsp,batching=balanced", or else
  // what --batching says.
  std::string batching;
};

// This is what the flags ask for.
struct JobRequest {
  // The job of every run, without model, data, paradigm and switches. Its
  // target is the last one of `target_accuracies`.
  v1::JobSpec spec;
  std::vector<ComparedRun> runs;   // At least one.
  size_t repeat = 1;               // So often each, in the order of ByTurns().
  std::vector<SwitchAt> switches;  // In every run.
  std::vector<double> target_accuracies;  // From the lowest to the highest.
  absl::Duration lease;
};

// INVALID_ARGUMENT, naming the flag, for the first that is wrong by itself.
absl::StatusOr<JobRequest> ParseJobFlags(const JobFlags& flags);

// The job of one run of `request`, on data with `train_samples` samples an
// epoch.
v1::JobSpec MakeJobSpec(const JobRequest& request, const ComparedRun& run,
                        int64_t train_samples);

// `spec` in proto JSON, every field written out, for the coordinator and for
// whoever looks into the run's folder.
std::string JobSpecJson(const v1::JobSpec& spec);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_JOB_FLAGS_H_
