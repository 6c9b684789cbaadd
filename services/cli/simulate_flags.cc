#include "services/cli/simulate_flags.h"

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

constexpr char kFooter[] = R"(
Examples:
  # Pushes in ten minutes, one worker of four being two and a half times slower:
  paceline simulate --iteration-times 1,1,1,2.5 --duration 600s \
      --paradigm bsp --paradigm asp --paradigm dssp:lower=3,upper=15

  # A thousand workers of four speeds, five percent of jitter, a real network:
  paceline simulate --workers 1000 --profile four-speeds --jitter normal:sd=0.05 \
      --latency 200us --bandwidth 1.25G --model-bytes 100M --servers 8

  # Worker 3 crashes after a minute and comes back half a minute later:
  paceline simulate --crash 3@60s --join 3@90s --paradigm ssp:s=3

  # What a recorded run would have been under another paradigm:
  paceline simulate --trace times.jsonl --paradigm bsp --paradigm asp

  # Seconds to 97 %, trained for real in virtual time, with a page to look at:
  paceline simulate --iteration-times 1,1,1,4 --train lenet5 --data mnist:DIR \
      --target-accuracy 0.97 --paradigm bsp --paradigm cgp --plot page.html

Profiles: uniform; ratio:1,1,1,4 (factors of the iteration time); four-speeds
  (1, 1.3, 1.7, 2.9); bursts (every 20 iterations five take 4 times as long);
  exponential (times without memory). Lists shorter than the workers repeat.
Jitters: none, normal:sd=0.1 (of the mean), lognormal:sigma=0.3, exponential,
  bursts:every=60s,for=5s,factor=4; one and bursts joined by '+'
Trace: what `paceline local --record` writes, lines of
  {"worker":"w0","compute":0.0203,"samples":32}, in seconds, optionally with
  "load", "push" and "pull"; each worker replays its own, over and over.
)";

constexpr char kExitCodes[] = R"(.

Exit codes: 0 success; 1 a run failed or could not end; 2 a flag or an input is
  wrong; 3 the trace or the data do not exist; 4 the page cannot be written.
The same flags give the same output, byte for byte.)";

void AddDeviceFlags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("--workers", flags.workers,
                  "Virtual workers; 0: as many as the lists below name, or 4")
      ->default_str("0");
  command
      .add_option("--iteration-times", flags.iteration_times,
                  "Of a full batch: one for all, or one per worker")
      ->default_str("1s");
  command.add_option("--profile", flags.profile,
                     "uniform, ratio:LIST, four-speeds, bursts or exponential");
  command
      .add_option("--jitter", flags.jitter,
                  "How iteration times scatter; once: every worker, or once "
                  "per worker")
      ->allow_extra_args(false)
      ->default_str("none");
  command.add_option("--trace", flags.trace,
                     "Replay the iteration times recorded in this file");
}

void AddRunFlags(CLI::App& command, SimulateFlags& flags) {
  command.add_option("--duration", flags.duration,
                     "End after so much virtual time; samples do not run out "
                     "unless they are given");
  command.add_option("--iterations", flags.iterations,
                     "Per worker, on average; 0: 1000 if nothing else ends it");
  command.add_option("--samples", flags.samples, "Of one epoch");
  command
      .add_option("--train", flags.train,
                  "Train this model for real, on the virtual clock: logreg, "
                  "mlp, lenet5, alexnet-small, resnet20, resnet32, "
                  "resnet50 or resnet110; the data are the "
                  "samples")
      ->default_str("");
  command
      .add_option("--data", flags.data,
                  "For --train: synthetic:NAME, mnist:DIR or cifar10:DIR")
      ->default_str("synthetic:shapes");
  command
      .add_option("--plot", flags.plot,
                  "Write a page with accuracy, timelines and histograms of "
                  "all runs to this file")
      ->default_str("");
}

void AddClusterFlags(CLI::App& command, SimulateFlags& flags) {
  command.add_option("--servers", flags.servers, "Parameter servers");
  command.add_option("--latency", flags.latency,
                     "Of every message, one way: one for all, or one per "
                     "worker");
  command
      .add_option("--bandwidth", flags.bandwidth,
                  "Bytes a second from a worker to each server: one for all, "
                  "or one per worker; without it, infinitely many")
      ->default_str("");
  command
      .add_option("--model-bytes", flags.model_bytes,
                  "Of a push and of a pull, all servers together; without "
                  "it, 0 or those of what is trained")
      ->default_str("");
  command.add_option("--join", flags.join,
                     "3@60s,...: worker 3 joins then; it was not there before, "
                     "or had left");
  command.add_option("--leave", flags.leave, "3@60s,...: says good-bye");
  command.add_option("--crash", flags.crash, "3@60s,...: falls silent");
}

}  // namespace

void AddSimulateFlags(CLI::App& command, SimulateFlags& flags) {
  command.option_defaults()->always_capture_default();
  AddDeviceFlags(command, flags);
  AddRunFlags(command, flags);
  AddJobFlags(command, flags);
  AddClusterFlags(command, flags);
  command.footer(absl::StrCat(kFooter, kJobFlagsHelp, kExitCodes));
}

}  // namespace paceline
