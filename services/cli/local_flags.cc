#include "services/cli/local_flags.h"

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

constexpr char kFooter[] = R"(
Examples:
  # BSP against DSSP, one worker of four being four times slower:
  paceline local --step-time 20ms --slowdown 1,1,1,4 \
      --paradigm bsp --paradigm dssp:lower=3,upper=15

  # Seconds to 97 % on MNIST, as one JSON document:
  paceline local --data mnist:DIR --target-accuracy 0.97 --stop-at-target \
      -o json

  # Bursts on every worker, an extra delay on the second one alone:
  paceline local --workers 2 --pause every=5s,for=1s \
      --delay none --delay normal:mean=50ms,sd=10ms

Delays: none, constant:5ms, uniform:min=1ms,max=9ms, normal:mean=5ms,sd=2ms,
  exponential:mean=10ms, lognormal:mean=10ms,sd=5ms
Pauses: none, every=10s,for=2s, every=10s,for=2s,first=3s
)";

constexpr char kExitCodes[] = R"(.

Exit codes: 0 success; 1 the run failed; 2 a flag or an input is wrong; 3 a data
  file does not exist; 4 a program of paceline is missing; 5 not allowed;
  6 a process did not answer in time, or a port is taken; 130 interrupted
  (128 + N when ended by signal N).
Progress and errors go to stderr, results alone to stdout.)";

void AddTrainingFlags(CLI::App& command, LocalFlags& flags) {
  command.add_option("--model", flags.model,
                     "logreg, mlp, lenet5, alexnet-small, resnet20, resnet32, "
                     "resnet50 or resnet110");
  command.add_option("--data", flags.data,
                     "synthetic:NAME, mnist:DIR or cifar10:DIR");
  command.add_option("--max-seconds", flags.max_seconds,
                     "End after so many seconds of training; 0: no limit");
  command.add_option("--wire", flags.wire,
                     "How numbers travel: fp32, bf16 or fp16");
  command.add_option("--precision", flags.precision,
                     "How GPUs multiply matrices: fp32, tf32 or bf16");
  command.add_flag("--defer-eval", flags.defer_eval,
                   "Evaluate after the training, not beside it");
}

void AddWorkerFlags(CLI::App& command, LocalFlags& flags) {
  command.add_option("--slowdown", flags.slowdown,
                     "Multiplies compute time, one factor per worker: 1,1,1,4");
  command.add_option("--step-time", flags.step_time,
                     "Imitate a device that takes this long for a full batch");
  command
      .add_option("--delay", flags.delay,
                  "Extra time per iteration; once: every worker, or once per "
                  "worker")
      ->allow_extra_args(false)
      ->default_str("none");
  command
      .add_option("--pause", flags.pause,
                  "Bursts of standing still; once: every worker, or once per "
                  "worker")
      ->allow_extra_args(false)
      ->default_str("none");
  command
      .add_option("--device", flags.device,
                  "What workers compute on, auto, cpu, cuda or cuda:N; once: "
                  "every worker, or once per worker; the evaluator has the "
                  "first one's")
      ->allow_extra_args(false)
      ->default_str("auto");
  command.add_option("--threads", flags.threads,
                     "Compute threads of each worker");
}

void AddClusterFlags(CLI::App& command, LocalFlags& flags) {
  command.add_option("--workers", flags.workers, "Worker processes");
  command.add_option("--servers", flags.servers, "Parameter server processes");
  command.add_option("--port", flags.port,
                     "Of the coordinator; 0: chosen by the system");
  command.add_option("--run-dir", flags.run_dir, "Where logs go")
      ->default_str("./paceline-runs/TIME-PID");
  command
      .add_option("--record", flags.record,
                  "Write every iteration's times to this file, for `paceline "
                  "simulate --trace`; of a single run")
      ->default_str("");
}

}  // namespace

void AddLocalFlags(CLI::App& command, LocalFlags& flags) {
  command.option_defaults()->always_capture_default();
  AddTrainingFlags(command, flags);
  AddJobFlags(command, flags);
  AddWorkerFlags(command, flags);
  AddClusterFlags(command, flags);
  command.footer(absl::StrCat(kFooter, kJobFlagsHelp, kExitCodes));
}

}  // namespace paceline
