#include "services/cli/local_flags.h"

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

Paradigms: bsp, asp, ssp:s=3, dssp:lower=3,upper=15,mode=paper|exact|bounded,
  interval=push|busy,rule=abs|causal,fastest=max|within:K
Delays: none, constant:5ms, uniform:min=1ms,max=9ms, normal:mean=5ms,sd=2ms,
  exponential:mean=10ms, lognormal:mean=10ms,sd=5ms
Pauses: none, every=10s,for=2s, every=10s,for=2s,first=3s
Schedules: constant, step:at=0.5|0.75,factor=0.1, either with warmup=0.1
Durations are written 20ms, 1.5s, 2m.

Exit codes: 0 success; 1 the run failed; 2 a flag or an input is wrong; 3 a data
  file does not exist; 4 a program of paceline is missing; 5 not allowed;
  6 a process did not answer in time, or a port is taken; 130 interrupted
  (128 + N when ended by signal N).
Progress and errors go to stderr, results alone to stdout.)";

void AddJobFlags(CLI::App& command, LocalFlags& flags) {
  command.add_option("--model", flags.model,
                     "logreg, mlp, lenet5, alexnet-small or resnet20");
  command.add_option("--data", flags.data,
                     "synthetic:NAME, mnist:DIR or cifar10:DIR");
  command
      .add_option("--paradigm", flags.paradigms,
                  "How workers are synchronized; given again: one more run on "
                  "the same data, seed and weights")
      ->allow_extra_args(false)
      ->default_str("bsp");
  command
      .add_option("--switch-at", flags.switch_at,
                  "SHARE%=PARADIGM: takes over in every run after that share "
                  "of the samples; may be given again")
      ->allow_extra_args(false)
      ->default_str("none");
  command.add_option("--batching", flags.batching,
                     "even: all workers compute equal batches; balanced: in "
                     "proportion to their measured rates");
  command.add_option("--epochs", flags.epochs, "Passes over the data");
  command.add_option("--max-seconds", flags.max_seconds,
                     "End after so many seconds of training; 0: no limit");
  command.add_option("--batch-size", flags.batch_size, "Samples of one push");
  command.add_option("--micro-batch", flags.micro_batch,
                     "Samples computed at once; 0: the batch size");
  command.add_option("--learning-rate", flags.learning_rate,
                     "Of one push of a full batch");
  command.add_option("--optimizer", flags.optimizer, "At the servers");
  command.add_option("--schedule", flags.schedule,
                     "Of the learning rate, by samples counted");
  command.add_option("--round-strength", flags.round_strength,
                     "How a round's step grows with its samples: linear, sqrt "
                     "or constant");
  command.add_option("--seed", flags.seed, "Of weights and sample order");
  command.add_option("--wire", flags.wire,
                     "How numbers travel: fp32, bf16 or fp16");
}

void AddEvaluationFlags(CLI::App& command, LocalFlags& flags) {
  command.add_option("--eval-every", flags.eval_every,
                     "Samples between evaluations; 0: a twentieth of an epoch");
  command.add_flag("--defer-eval", flags.defer_eval,
                   "Evaluate after the training, not beside it");
  command.add_option("--target-accuracy", flags.target_accuracy,
                     "Measure the seconds until it is reached");
  command.add_flag("--stop-at-target", flags.stop_at_target,
                   "End the run there");
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
  command.add_option("--threads", flags.threads,
                     "Compute threads of each worker");
}

void AddClusterFlags(CLI::App& command, LocalFlags& flags) {
  command.add_option("--workers", flags.workers, "Worker processes");
  command.add_option("--servers", flags.servers, "Parameter server processes");
  command.add_option("--lease", flags.lease,
                     "A member not heard for so long is lost");
  command.add_option("--port", flags.port,
                     "Of the coordinator; 0: chosen by the system");
  command.add_option("--run-dir", flags.run_dir, "Where logs go")
      ->default_str("./paceline-runs/TIME-PID");
  command.add_option("-o,--output", flags.output, "table or json");
}

}  // namespace

void AddLocalFlags(CLI::App& command, LocalFlags& flags) {
  command.option_defaults()->always_capture_default();
  AddJobFlags(command, flags);
  AddEvaluationFlags(command, flags);
  AddWorkerFlags(command, flags);
  AddClusterFlags(command, flags);
  command.footer(kFooter);
}

}  // namespace paceline
