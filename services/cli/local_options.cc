#include "services/cli/local_options.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/in_flight.h"
#include "common/job/duration.h"
#include "common/job/names.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/cli/job_arguments.h"
#include "services/worker/device_choice.h"
#include "services/worker/pace/pace_spec.h"

namespace paceline {
namespace {

constexpr char kFooter[] = R"(
Examples:
  # BSP against CGP, one worker of four being four times slower:
  paceline local --step-time 20ms --slowdown 1,1,1,4 \
      --paradigm bsp --paradigm cgp

  # Seconds to 97 % on MNIST, as one JSON document:
  paceline local --data mnist:DIR --target-accuracy 0.97 --stop-at-target \
      -o json

  # Your own PyTorch script, on four unequal workers, under two paradigms:
  paceline local --program "python3 train.py" --slowdown 1,1,1,4 \
      --paradigm bsp --paradigm cgp

  # Bursts on every worker, an extra delay on the second one alone:
  paceline local --workers 2 --pause every=5s,for=1s \
      --delay none --delay normal:mean=50ms,sd=10ms

Delays: none, constant:5ms, uniform:min=1ms,max=9ms, normal:mean=5ms,sd=2ms,
  exponential:mean=10ms, lognormal:mean=10ms,sd=5ms
Pauses: none, every=10s,for=2s, every=10s,for=2s,first=3s

)";

constexpr char kExitCodes[] = R"(.

Exit codes:
  0 success, 1 the run failed, 2 a flag or an input is wrong,
  3 a data file does not exist, 4 a program of paceline is missing,
  5 not allowed, 6 a process did not answer in time or a port is taken,
  130 interrupted (128 + N when ended by signal N)
Progress and errors go to standard error, results alone to standard output.)";

void AddTrainingFlags(CLI::App& command, LocalFlags& flags) {
  command
      .add_option("--model", flags.model,
                  absl::StrCat("The built-in model to train. ", ModelsHelp()))
      ->type_name("MODEL");
  command
      .add_option(
          "--data", flags.data,
          absl::StrCat("The data to train on: ", kDataForms, ". ", kAugmentHelp,
                       " With --program: program, whose samples have "
                       "positions, or stream, whose samples are only "
                       "counted."))
      ->type_name("DATA");
  command
      .add_option("--max-seconds", flags.max_seconds,
                  "End each run after so many seconds of training. 0: no "
                  "limit.")
      ->type_name("SECONDS");
  command
      .add_option("--wire", flags.wire,
                  "Format of weights and gradients on the network: fp32, bf16, "
                  "fp16 or int8. int8: gradients as int8, weights as bf16.")
      ->type_name("FORMAT");
  command
      .add_option("--precision", flags.precision,
                  "Format in which GPUs multiply matrices: fp32, tf32 or bf16.")
      ->type_name("FORMAT");
  command
      .add_option("--eval-share", flags.eval_share,
                  "Evaluations take at most this share of the time that the "
                  "workers train. 0: a tenth, or no bound with --eval-every or "
                  "a target.")
      ->type_name("SHARE");
  command.add_flag("--defer-eval", flags.defer_eval,
                   "Evaluate after the training. Default: beside it.");
  command.add_flag("--no-eval", flags.no_eval,
                   "Never evaluate: there is no accuracy, and no process for "
                   "it.");
}

void AddWorkerFlags(CLI::App& command, LocalFlags& flags) {
  command
      .add_option("--slowdown", flags.slowdown,
                  "Make workers slower: a factor for each worker, with commas "
                  "between them. 1,1,1,4: the fourth takes four times as long. "
                  "Default: 1 for all.")
      ->type_name("FACTORS");
  command
      .add_option("--step-time", flags.step_time,
                  "Imitate a device that takes this long for a full batch. "
                  "Default: the time that this machine needs.")
      ->type_name("DURATION");
  command
      .add_option("--delay", flags.delay,
                  "Extra time in each iteration, drawn as below. Give it once "
                  "for all workers, or once for each worker.")
      ->allow_extra_args(false)
      ->default_str("none")
      ->type_name("DELAY");
  command
      .add_option("--pause", flags.pause,
                  "Let workers stand still from time to time, as below. Give "
                  "it once for all workers, or once for each worker.")
      ->allow_extra_args(false)
      ->default_str("none")
      ->type_name("PAUSE");
  command
      .add_option("--micro-batch-cost", flags.micro_batch_cost,
                  "Time that every micro-batch after the first adds to an "
                  "iteration, as a share of --step-time. 0.02: two percent.")
      ->default_str("0")
      ->type_name("SHARE");
  command
      .add_option("--device", flags.device,
                  "What workers compute on: auto, cpu, cuda or cuda:N. With "
                  "cuda:0,cuda:1 or cpu,cpu one worker divides each "
                  "micro-batch over several devices. Give it once for all "
                  "workers, or once for each worker. The evaluator uses the "
                  "first device of the first worker. A program sees its "
                  "worker's cards alone.")
      ->allow_extra_args(false)
      ->default_str("auto")
      ->type_name("DEVICE");
  command
      .add_option("--threads", flags.threads,
                  "Compute threads of each worker. A program gets the number "
                  "as OMP_NUM_THREADS.")
      ->type_name("N");
  command.add_option("--in-flight", flags.in_flight, kInFlightHelp)
      ->type_name("N");
}

void AddClusterFlags(CLI::App& command, LocalFlags& flags) {
  command.add_option("--workers", flags.workers, "Number of worker processes.")
      ->type_name("N");
  command
      .add_option("--servers", flags.servers,
                  "Number of parameter server processes.")
      ->type_name("N");
  command
      .add_option("--replicas", flags.replicas,
                  "Backups of each server's part of the model on another "
                  "server: 0 or 1.")
      ->type_name("N");
  command
      .add_option("--port", flags.port,
                  "TCP port of the coordinator on this machine. 0: the system "
                  "chooses one.")
      ->type_name("PORT");
  command
      .add_option("--run-dir", flags.run_dir,
                  "Folder for the logs and checkpoints of the runs.")
      ->default_str("./paceline-runs/TIME-PID")
      ->type_name("DIR");
  command
      .add_option("--record", flags.record,
                  "Write the times of every iteration to this file, for "
                  "`paceline simulate --trace`. Only for a single run. "
                  "Default: no file.")
      ->default_str("")
      ->type_name("FILE");
  command
      .add_option("--plot", flags.plot,
                  "Write a web page with curves, a lane for each worker and a "
                  "table of all runs to this file. Default: no page.")
      ->default_str("")
      ->type_name("FILE");
  command.add_flag("--ui", flags.ui,
                   "Serve a page of the runs to a browser on this machine, and "
                   "print its address.");
}

constexpr int64_t kMaxWorkers = 256;
constexpr int64_t kMaxServers = 64;
constexpr int64_t kMaxThreads = 256;
// The least lease that a coordinator takes, and an hour.
constexpr absl::Duration kMinLease = absl::Milliseconds(100);
constexpr absl::Duration kMaxLease = absl::Hours(1);

// "none" is none.
absl::StatusOr<std::vector<std::string>> NonePerWorker(
    absl::string_view flag, const std::vector<std::string>& values,
    int64_t workers) {
  PACELINE_ASSIGN_OR_RETURN(std::vector<std::string> each,
                            PerWorker(flag, values, "none", workers));
  std::replace(each.begin(), each.end(), std::string("none"), std::string());
  return each;
}

absl::StatusOr<std::vector<std::string>> SplitSlowdown(const std::string& text,
                                                       size_t workers) {
  if (text.empty()) return std::vector<std::string>(workers);
  std::vector<std::string> factors = absl::StrSplit(text, ',');
  for (const std::string& factor : factors) {
    // Empty would pass for "not given".
    PACELINE_RETURN_IF_ERROR(Annotate(ParseSlowdown(factor).status(),
                                      absl::StrCat("--slowdown ", text)));
  }
  if (factors.size() != workers) {
    return absl::InvalidArgumentError(
        absl::StrCat("--slowdown ", text, ": lists ", factors.size(),
                     factors.size() == 1 ? " factor for " : " factors for ",
                     workers, " workers; give one per worker"));
  }
  return factors;
}

// One flag after the other, so that the message can name it.
absl::Status CheckPace(const WorkerPace& pace) {
  PACELINE_RETURN_IF_ERROR(
      Annotate(ParsePace({.step_time = pace.step_time}).status(),
               absl::StrCat("--step-time ", pace.step_time)));
  PACELINE_RETURN_IF_ERROR(Annotate(ParsePace({.delay = pace.delay}).status(),
                                    absl::StrCat("--delay ", pace.delay)));
  PACELINE_RETURN_IF_ERROR(Annotate(ParsePace({.pause = pace.pause}).status(),
                                    absl::StrCat("--pause ", pace.pause)));
  PACELINE_RETURN_IF_ERROR(
      Annotate(ParsePace({.step_time = pace.step_time,
                          .micro_batch_cost = pace.micro_batch_cost})
                   .status(),
               absl::StrCat("--micro-batch-cost ", pace.micro_batch_cost)));
  // Which factors are possible depends on whether there is a step time.
  return Annotate(
      ParsePace({.slowdown = pace.slowdown, .step_time = pace.step_time})
          .status(),
      absl::StrCat("--slowdown ", pace.slowdown));
}

// One element per worker, out of --slowdown, which lists one factor per worker,
// --step-time and --micro-batch-cost, which are every worker's, and --delay and
// --pause, which are given once for every worker or once per worker; "none" is
// none. INVALID_ARGUMENT, naming the flag, for a wrong number of them or a
// value that a worker would refuse.
absl::StatusOr<std::vector<WorkerPace>> ParseWorkerPaces(
    const LocalFlags& flags) {
  const size_t count = static_cast<size_t>(flags.workers);
  PACELINE_ASSIGN_OR_RETURN(const std::vector<std::string> slowdown,
                            SplitSlowdown(flags.slowdown, count));
  PACELINE_ASSIGN_OR_RETURN(
      const std::vector<std::string> delay,
      NonePerWorker("--delay", flags.delay, flags.workers));
  PACELINE_ASSIGN_OR_RETURN(
      const std::vector<std::string> pause,
      NonePerWorker("--pause", flags.pause, flags.workers));
  std::vector<WorkerPace> paces;
  for (size_t i = 0; i < count; ++i) {
    paces.push_back({.slowdown = slowdown[i],
                     .step_time = flags.step_time,
                     .delay = delay[i],
                     .pause = pause[i],
                     .micro_batch_cost = flags.micro_batch_cost});
    PACELINE_RETURN_IF_ERROR(CheckPace(paces.back()));
  }
  return paces;
}

absl::Status CheckEvaluation(const LocalFlags& flags) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--eval-share", flags.eval_share, 0, 1));
  if (flags.stop_at_target && flags.defer_eval) {
    return absl::InvalidArgumentError(
        "--stop-at-target contradicts --defer-eval: evaluating after the "
        "training cannot end it");
  }
  if (flags.no_eval && HasTarget(flags)) {
    return absl::InvalidArgumentError(
        "--no-eval contradicts a target, which only evaluations can reach");
  }
  return absl::OkStatus();
}

absl::Status CheckRecord(const LocalFlags& flags) {
  if (flags.record.empty()) return absl::OkStatus();
  if (flags.plot == flags.record) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plot ", flags.plot, ": would replace the --record"));
  }
  const auto refuse = [&](auto runs, absl::string_view instead) {
    return absl::InvalidArgumentError(absl::StrCat("--record ", flags.record,
                                                   ": records one run, not ",
                                                   runs, "; ", instead));
  };
  if (flags.paradigms.size() > 1) {
    return refuse(flags.paradigms.size(), "give one --paradigm");
  }
  if (flags.repeat > 1) return refuse(flags.repeat, "leave --repeat out");
  if (flags.in_flight > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--record ", flags.record,
        ": the times would hold the waits of --in-flight for a device; leave "
        "that out, and give it to paceline simulate"));
  }
  return absl::OkStatus();
}

absl::Status CheckOwnFlags(const LocalFlags& flags) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--workers", flags.workers, 1, kMaxWorkers));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--servers", flags.servers, 1, kMaxServers));
  PACELINE_RETURN_IF_ERROR(CheckInRange("--replicas", flags.replicas, 0, 1));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--threads", flags.threads, 1, kMaxThreads));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--in-flight", flags.in_flight, 1, kMostInFlight));
  PACELINE_RETURN_IF_ERROR(CheckInRange("--port", flags.port, 0, 65535));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--wire", flags.wire, {"fp32", "bf16", "fp16", "int8"}));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--precision", flags.precision, {"fp32", "tf32", "bf16"}));
  if (!std::isfinite(flags.max_seconds) || flags.max_seconds < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--max-seconds ", flags.max_seconds, ": must be 0 or more"));
  }
  PACELINE_RETURN_IF_ERROR(CheckEvaluation(flags));
  return CheckRecord(flags);
}

absl::StatusOr<std::vector<std::string>> ParseDevices(const LocalFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(
      std::vector<std::string> devices,
      PerWorker("--device", flags.device, "auto", flags.workers));
  for (const std::string& device : devices) {
    PACELINE_RETURN_IF_ERROR(
        Annotate(ParseDeviceChoice(device).status(), "--device"));
  }
  return devices;
}

// Names what is trained, and leaves to a program what its script decides unless
// a flag says it.
absl::Status AddTask(const LocalFlags& flags,
                     const std::optional<LocalProgram>& program,
                     v1::JobSpec& spec) {
  spec.set_model(flags.model);
  spec.set_data(flags.data);
  if (!program.has_value()) return absl::OkStatus();
  const auto typed = [&](const char* flag) {
    return flags.typed.contains(flag);
  };
  spec.set_model(absl::StrCat(kProgramPrefix, program->name));
  spec.set_data(std::string(kProgramData));
  if (typed("--data")) {
    spec.set_data(flags.data);
    PACELINE_RETURN_IF_ERROR(CheckOneOf("with --program, --data", flags.data,
                                        {kProgramData, kStreamData}));
  }
  if (!typed("--optimizer")) spec.clear_optimizer();
  if (!typed("--learning-rate")) spec.clear_learning_rate();
  if (!typed("--batch-size")) spec.clear_batch_size();
  // A script alone has a constant rate: what it prints must not surprise.
  if (!typed("--schedule")) spec.set_schedule("constant");
  return AddArguments(flags.program.arguments, spec);
}

// Adds what only `paceline local` asks for.
void AddToSpec(const LocalFlags& flags, v1::JobSpec& spec) {
  v1::WireFormat wire = v1::FP32;
  CHECK(v1::WireFormat_Parse(absl::AsciiStrToUpper(flags.wire), &wire));
  spec.set_wire(wire);
  v1::JobSpec::Precision precision = v1::JobSpec::FP32;
  CHECK(v1::JobSpec::Precision_Parse(absl::AsciiStrToUpper(flags.precision),
                                     &precision));
  spec.set_precision(precision);
  spec.mutable_stop()->set_seconds(flags.max_seconds);
  spec.mutable_evaluation()->set_share(flags.eval_share);
  spec.mutable_evaluation()->set_defer(flags.defer_eval);
  spec.mutable_evaluation()->set_disabled(flags.no_eval);
  const auto workers = static_cast<uint32_t>(flags.workers * flags.in_flight);
  spec.mutable_workers()->set_min(workers);
  spec.mutable_workers()->set_max(workers);
  spec.set_servers(static_cast<uint32_t>(flags.servers));
  spec.set_replicas(static_cast<uint32_t>(flags.replicas));
}

}  // namespace

void AddLocalFlags(CLI::App& command, LocalFlags& flags) {
  command.option_defaults()->always_capture_default();
  AddTrainingFlags(command, flags);
  AddProgramFlags(command, flags.program);
  AddJobFlags(command, flags);
  AddWorkerFlags(command, flags);
  AddClusterFlags(command, flags);
  command.footer(absl::StrCat(kFooter, kJobFlagsHelp, kExitCodes));
}

absl::StatusOr<LocalOptions> ParseLocalOptions(const LocalFlags& flags) {
  LocalOptions options;
  PACELINE_ASSIGN_OR_RETURN(options.job, ParseJobFlags(flags));
  PACELINE_RETURN_IF_ERROR(CheckOwnFlags(flags));
  PACELINE_RETURN_IF_ERROR(
      ParseDuration("--lease", flags.lease, kMinLease, kMaxLease).status());
  PACELINE_ASSIGN_OR_RETURN(options.workers, ParseWorkerPaces(flags));
  PACELINE_ASSIGN_OR_RETURN(options.devices, ParseDevices(flags));
  PACELINE_ASSIGN_OR_RETURN(options.program,
                            ParseProgramFlags(flags.program, flags.typed));
  PACELINE_RETURN_IF_ERROR(AddTask(flags, options.program, options.job.spec));
  AddToSpec(flags, options.job.spec);
  options.threads = static_cast<int>(flags.threads);
  options.threads_given = flags.typed.contains("--threads");
  options.in_flight = static_cast<int>(flags.in_flight);
  options.port = static_cast<int>(flags.port);
  options.run_dir = flags.run_dir;
  options.record = flags.record;
  options.plot = flags.plot;
  options.json = flags.output == "json";
  options.ui = flags.ui;
  return options;
}

}  // namespace paceline
