#include "services/cli/simulate_options.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job/job_defaults.h"
#include "common/job/job_plan.h"
#include "common/job/names.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/cli/simulated_workers.h"

namespace paceline {
namespace {

constexpr char kFooter[] = R"(
Examples:
  # Pushes in ten minutes, one worker of four being two and a half times slower:
  paceline simulate --iteration-times 1,1,1,2.5 --duration 600s \
      --paradigm bsp --paradigm asp --paradigm cgp

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

Profiles: uniform, ratio:1,1,1,4 (factors of the iteration time), four-speeds
  (1, 1.3, 1.7, 2.9), bursts (every 20 iterations five take 4 times as long),
  exponential (times without memory). Lists shorter than the workers repeat.
Jitters: none, normal:sd=0.1 (of the mean), lognormal:sigma=0.3, exponential,
  bursts:every=60s,for=5s,factor=4. One of them and bursts are joined by '+'.
Trace: the file that `paceline local --record` writes. Its lines are like
  {"worker":"w0","compute":0.0203,"samples":32}, in seconds. Optional fields are
  "load", "push" and "pull". Each worker replays its own lines, over and over.

)";

constexpr char kExitCodes[] = R"(.

Exit codes:
  0 success, 1 a run failed or could not end, 2 a flag or an input is wrong,
  3 the trace or the data do not exist, 4 the page cannot be written
The same flags give the same output, byte for byte.)";

void AddDeviceFlags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("--workers", flags.workers,
                  "Number of virtual workers. 0: as many as the lists of other "
                  "flags have entries, or 4.")
      ->default_str("0")
      ->type_name("N");
  command
      .add_option("--iteration-times", flags.iteration_times,
                  "Time that a worker takes for a full batch. One for all "
                  "workers, or a list with one for each worker.")
      ->default_str("1s")
      ->type_name("DURATIONS");
  command
      .add_option("--profile", flags.profile,
                  "How workers differ: uniform, ratio:LIST, four-speeds, "
                  "bursts or exponential.")
      ->type_name("PROFILE");
  command
      .add_option("--jitter", flags.jitter,
                  "How the times of iterations scatter, as below. Give it once "
                  "for all workers, or once for each worker.")
      ->allow_extra_args(false)
      ->default_str("none")
      ->type_name("JITTER");
  command
      .add_option("--micro-batch-cost", flags.micro_batch_cost,
                  "Time that every micro-batch after the first adds to an "
                  "iteration. It is a share of the mean time of a full batch. "
                  "0.02: two percent.")
      ->type_name("SHARE");
  command.add_option("--in-flight", flags.in_flight, kInFlightHelp)
      ->type_name("N");
  command
      .add_option("--trace", flags.trace,
                  "Replay the times of iterations that this file has. Default: "
                  "times are drawn.")
      ->type_name("FILE");
}

void AddRunFlags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("--duration", flags.duration,
                  "End each run after this virtual time. Samples do not run "
                  "out unless they are given. Default: no limit.")
      ->type_name("DURATION");
  command
      .add_option("--iterations", flags.iterations,
                  "End each run after so many iterations of a worker, on "
                  "average. 0: 1000 if nothing else ends it.")
      ->type_name("N");
  command
      .add_option("--samples", flags.samples,
                  "Samples of one epoch. 0: as many as --iterations needs, or "
                  "those of --data.")
      ->type_name("N");
  command
      .add_option("--train", flags.train,
                  absl::StrCat("Train this model for real, on the virtual "
                               "clock. ",
                               ModelsHelp(), " Default: nothing is trained."))
      ->default_str("")
      ->type_name("MODEL");
  command
      .add_option(
          "--data", flags.data,
          absl::StrCat("The data of --train: ", kDataForms, ". ", kAugmentHelp))
      ->default_str("synthetic:shapes")
      ->type_name("DATA");
  command
      .add_option("--local-rate", flags.local_rate,
                  "With --train, workers take local steps: one of plain SGD at "
                  "this rate after each micro-batch. They push how far the "
                  "weights came, and --optimizer is the outer one. 0: they "
                  "push gradients.")
      ->type_name("RATE");
  command
      .add_option("--plot", flags.plot,
                  "Write a web page with accuracy, timelines and histograms of "
                  "all runs to this file. Default: no page.")
      ->default_str("")
      ->type_name("FILE");
}

void AddServerFlags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("--server-bandwidth", flags.server_bandwidth,
                  "Bytes a second of each server's link, in each direction, "
                  "for all workers together. Those that push at the same time "
                  "share it. So do those that pull. Default: infinite.")
      ->default_str("")
      ->type_name("BYTES");
  command
      .add_option("--server-copy-rate", flags.server_copy_rate,
                  "Bytes a second at which a server takes pushes and sends "
                  "pulls, one after another. Default: infinite.")
      ->default_str("")
      ->type_name("BYTES");
  command
      .add_option("--server-apply-rate", flags.server_apply_rate,
                  "Bytes a second at which a server applies updates. Each push "
                  "that is applied at once is an update, and each round is "
                  "one. Default: infinite.")
      ->default_str("")
      ->type_name("BYTES");
  command
      .add_option("--server-update-time", flags.server_update_time,
                  "Time that an update takes at a server besides that of its "
                  "bytes.")
      ->type_name("DURATION");
}

void AddClusterFlags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("--servers", flags.servers,
                  "Number of virtual parameter servers.")
      ->type_name("N");
  command
      .add_option("--latency", flags.latency,
                  "Time that every message takes one way. One for all workers, "
                  "or a list with one for each worker.")
      ->type_name("DURATIONS");
  command
      .add_option("--bandwidth", flags.bandwidth,
                  "Bytes a second from a worker to each server, as 1.25G. One "
                  "for all workers, or a list with one for each worker. "
                  "Default: infinite.")
      ->default_str("")
      ->type_name("BYTES");
  command
      .add_option("--model-bytes", flags.model_bytes,
                  "Bytes of a push and of a pull, to all servers together. "
                  "Default: those of the trained model, or 0.")
      ->default_str("")
      ->type_name("BYTES");
  command
      .add_option("--join", flags.join,
                  "Workers that join later, or come back after they have left. "
                  "3@60s,4@90s: worker 3 after 60 s, worker 4 after 90 s. "
                  "Default: none.")
      ->type_name("WORKER@TIME");
  command
      .add_option("--leave", flags.leave,
                  "Workers that leave and say so, as 3@60s,4@90s. Default: "
                  "none.")
      ->type_name("WORKER@TIME");
  command
      .add_option("--crash", flags.crash,
                  "Workers that fall silent without a word, as 3@60s,4@90s. "
                  "Default: none.")
      ->type_name("WORKER@TIME");
}

constexpr int64_t kMostServers = 1024;
constexpr int64_t kMostSamples = std::numeric_limits<uint32_t>::max();
constexpr int64_t kUsualIterations = 1000;
// About an hour on one core.
constexpr int64_t kMostPushes = 1'000'000'000;
constexpr Nanos kLongestUpdate = Nanos{3'600} * 1'000'000'000;
constexpr Nanos kYear = Nanos{365} * 86'400 * 1'000'000'000;
// Samples without end: passes over so many that no sum of them overflows.
constexpr uint32_t kEndlessSamples = uint32_t{1} << 31;
constexpr uint32_t kEndlessEpochs = uint32_t{1} << 20;
// A worker counts as stuck when its first iteration takes ten leases.
constexpr double kStuckLeases = 10;
// An iteration pays so many latencies (docs/simulation.md).
constexpr double kLatenciesPaid = 6;

// Refuses what would be without effect when nothing is trained.
absl::Status CheckNeedsTraining(const SimulateFlags& flags) {
  const JobFlags usual;
  const std::pair<const char*, bool> given[] = {
      {"--data", !flags.data.empty()},
      {flags.target.empty() ? "--target-accuracy" : "--target",
       HasTarget(flags)},
      {"--learning-rate", flags.learning_rate != usual.learning_rate},
      {"--local-rate", flags.local_rate != 0},
      {"--optimizer", flags.optimizer != usual.optimizer},
      {"--schedule", flags.schedule != usual.schedule},
      {"--round-strength", flags.round_strength != usual.round_strength},
      {"--eval-every", flags.eval_every != usual.eval_every}};
  for (const auto& [flag, is_given] : given) {
    if (!is_given) continue;
    return absl::InvalidArgumentError(absl::StrCat(flag, " needs --train"));
  }
  return absl::OkStatus();
}

absl::Status CheckOwnFlags(const SimulateFlags& flags) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--servers", flags.servers, 1, kMostServers));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--samples", flags.samples, 0, kMostSamples));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--iterations", flags.iterations, 0, kMostPushes));
  if (!(flags.local_rate >= 0 && flags.local_rate <= kRateMax)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--local-rate ", flags.local_rate, " is not in [0, ", kRateMax, "]"));
  }
  if (!flags.plot.empty() && flags.plot == flags.trace) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plot ", flags.plot, ": would replace the --trace"));
  }
  if (flags.samples > 0 && flags.iterations > 0) {
    return absl::InvalidArgumentError(
        "--iterations contradicts --samples: both say when the run ends");
  }
  if (!flags.train.empty()) {
    if (flags.samples == 0 && flags.iterations == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--train contradicts --samples and --iterations: its --data are the "
        "samples; give --epochs");
  }
  PACELINE_RETURN_IF_ERROR(CheckNeedsTraining(flags));
  if (flags.samples == 0 && flags.epochs > 1) {
    return absl::InvalidArgumentError("--epochs needs --samples or --train");
  }
  return absl::OkStatus();
}

// Returns the samples of an epoch that is not given by data.
absl::StatusOr<int64_t> MadeUpSamples(const SimulateFlags& flags,
                                      int64_t workers) {
  if (flags.samples > 0) return flags.samples;
  const int64_t batch = flags.batch_size;
  const int64_t iterations =
      flags.iterations == 0 ? kUsualIterations : flags.iterations;
  if (iterations > kMostSamples / batch / workers) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.iterations == 0 ? "without --iterations or --samples, 1000 for "
                                "each worker: "
                              : absl::StrCat("--iterations ", iterations, ": "),
        "with ", workers, " workers and batches of ", batch, " at most ",
        kMostSamples / batch / workers));
  }
  return iterations * workers * batch;
}

// Those that stand for themselves.
size_t Devices(const ClusterSpec& cluster) {
  return static_cast<size_t>(std::ranges::count_if(
      cluster.workers,
      [](const WorkerSpec& worker) { return !worker.of.has_value(); }));
}

// Sets when the run ends: by samples, by time, or by what comes first.
absl::Status SetEnd(const SimulateFlags& flags, SimulateOptions& options) {
  ClusterSpec& cluster = options.cluster;
  const int64_t batch = flags.batch_size;
  if (!flags.duration.empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        cluster.end, ParseNanos("--duration", flags.duration, 1, 10 * kYear));
    if (flags.samples == 0 && flags.iterations == 0 && flags.train.empty()) {
      cluster.samples_end = false;
      cluster.train_samples =
          static_cast<uint32_t>(kEndlessSamples / batch * batch);
      cluster.settings.stop.epochs = kEndlessEpochs;
      return absl::OkStatus();
    }
  }
  int64_t samples = 0;
  if (options.data != nullptr) {
    samples = options.data->train.size();
  } else {
    PACELINE_ASSIGN_OR_RETURN(
        samples, MadeUpSamples(flags, static_cast<int64_t>(Devices(cluster))));
  }
  if (samples / batch > kMostPushes / flags.epochs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the samples times --epochs make more than ", kMostPushes, " pushes"));
  }
  cluster.train_samples = static_cast<uint32_t>(samples);
  cluster.settings.stop.epochs = flags.epochs;
  return absl::OkStatus();
}

// Loads the data.
absl::Status SetTraining(const SimulateFlags& flags, const JobPlan& plan,
                         SimulateOptions& options) {
  if (flags.train.empty()) return absl::OkStatus();
  const v1::JobSpec& spec = plan.spec;
  PACELINE_ASSIGN_OR_RETURN(
      TrainingData data,
      LoadTrainingData(flags.data.empty() ? spec.data() : flags.data,
                       flags.train, "--train"));
  options.data = std::make_shared<const TrainingData>(std::move(data));
  TrainingSpec& training = options.training;
  training.model = flags.train;
  training.optimizer = plan.optimizer;
  training.round_strength = plan.round_strength;
  training.batch_size = spec.batch_size();
  training.micro_batch = options.cluster.micro_batch;
  training.local_rate = flags.local_rate;
  training.seed = spec.seed();
  ClusterSpec& cluster = options.cluster;
  cluster.run.evaluate = true;
  cluster.run.eval_every = spec.evaluation().every();
  cluster.settings.learning_rate = spec.learning_rate();
  cluster.settings.rate = plan.rate;
  cluster.settings.stop.target_accuracy = spec.stop().target_accuracy();
  if (spec.stop().has_target()) {
    const v1::MetricTarget& target = spec.stop().target();
    if (target.metric() != kAccuracyMetric && target.metric() != kLossMetric) {
      return absl::InvalidArgumentError(
          absl::StrCat("--target ", flags.target,
                       ": a simulated run has the metrics accuracy and loss"));
    }
    cluster.settings.stop.target = MetricTarget{
        .metric = target.metric(),
        .value = target.value(),
        .at_least = target.direction() == v1::MetricTarget::AT_LEAST};
  }
  cluster.settings.stop.at_target = spec.stop().at_target();
  return absl::OkStatus();
}

// Returns the share of the worker's iterations whose push or pull takes its
// part of the link and the servers: those of which it was not recorded.
double ShareNotRecorded(const DeviceSpec& device,
                        std::optional<Nanos> RecordedIteration::*moment) {
  if (device.recorded == nullptr) return 1;
  const auto without = std::ranges::count_if(
      *device.recorded,
      [&](const RecordedIteration& of) { return !(of.*moment).has_value(); });
  return static_cast<double>(without) /
         static_cast<double>(device.recorded->size());
}

// Returns how long a whole iteration of a worker takes that waits for no other
// one's push, if so many workers always push and pull at the same time, and so
// many of its own compute and send in turn.
double IterationSeconds(const WorkerSpec& worker, const ClusterSpec& cluster,
                        size_t at_once, size_t in_flight) {
  const double bytes =
      static_cast<double>(cluster.model_bytes) / cluster.servers;
  const auto crowd = static_cast<double>(at_once);
  const auto takes = [&](double bytes_per_second) {
    return bytes_per_second > 0 ? bytes / bytes_per_second : 0;
  };
  const ServerSpec& server = cluster.server;
  const auto turns = static_cast<double>(in_flight);
  const double pull = std::max(turns * takes(worker.link.bytes_per_second),
                               crowd * takes(server.link_bytes_per_second)) +
                      crowd * takes(server.copy_bytes_per_second);
  const double update =
      takes(server.apply_bytes_per_second) + ToSeconds(server.update);
  const DeviceSpec& device = worker.device;
  return turns * ToSeconds(device.iteration) +
         kLatenciesPaid * ToSeconds(worker.link.latency) +
         ShareNotRecorded(device, &RecordedIteration::pull) * pull +
         ShareNotRecorded(device, &RecordedIteration::push) *
             (pull + crowd * update);
}

absl::Status CheckLease(const SimulateFlags& flags,
                        const ClusterSpec& cluster) {
  for (const WorkerSpec& worker : cluster.workers) {
    const double seconds =
        IterationSeconds(worker, cluster, cluster.workers.size(),
                         cluster.workers.size() / Devices(cluster));
    if (seconds < kStuckLeases * absl::ToDoubleSeconds(cluster.run.lease))
      continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--lease ", flags.lease, ": worker ", worker.name, " takes ",
        absl::FormatDuration(absl::Seconds(seconds)),
        " for an iteration, computing, latencies, transfers and servers; after "
        "ten leases it counts as stuck, so give a longer lease"));
  }
  return absl::OkStatus();
}

// Without samples that end, time alone bounds the work.
absl::Status CheckPushes(const SimulateFlags& flags,
                         const ClusterSpec& cluster) {
  if (cluster.samples_end) return absl::OkStatus();
  double pushes = 0;
  for (const WorkerSpec& worker : cluster.workers) {
    pushes += ToSeconds(cluster.end) / IterationSeconds(worker, cluster, 1, 1);
  }
  if (pushes <= kMostPushes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--duration ", flags.duration, ": more than ", kMostPushes,
                   " pushes; simulate a shorter time"));
}

// Sets what the servers take their time for.
absl::Status SetServers(const SimulateFlags& flags, ClusterSpec& cluster) {
  ServerSpec& server = cluster.server;
  const std::tuple<const char*, const std::string&, double&> rates[] = {
      {"--server-bandwidth", flags.server_bandwidth,
       server.link_bytes_per_second},
      {"--server-copy-rate", flags.server_copy_rate,
       server.copy_bytes_per_second},
      {"--server-apply-rate", flags.server_apply_rate,
       server.apply_bytes_per_second}};
  for (const auto& [flag, text, rate] : rates) {
    if (text.empty()) continue;
    PACELINE_ASSIGN_OR_RETURN(rate, ParseBytesPerSecond(flag, text));
    if (cluster.model_bytes == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " needs --model-bytes"));
    }
  }
  PACELINE_ASSIGN_OR_RETURN(
      server.update, ParseNanos("--server-update-time",
                                flags.server_update_time, 0, kLongestUpdate));
  return absl::OkStatus();
}

absl::Status SetNetwork(const SimulateFlags& flags, SimulateOptions& options) {
  ClusterSpec& cluster = options.cluster;
  if (!flags.model_bytes.empty()) {
    PACELINE_ASSIGN_OR_RETURN(const double bytes,
                              ParseBytes("--model-bytes", flags.model_bytes));
    cluster.model_bytes = static_cast<int64_t>(bytes);
  } else if (options.data != nullptr) {
    cluster.model_bytes = options.data->model_bytes;
  }
  if (!flags.bandwidth.empty() && cluster.model_bytes == 0) {
    return absl::InvalidArgumentError("--bandwidth needs --model-bytes");
  }
  PACELINE_RETURN_IF_ERROR(SetServers(flags, cluster));
  // The coordinator is as near to the servers as the nearest worker.
  cluster.server_latency = cluster.workers.front().link.latency;
  for (const WorkerSpec& worker : cluster.workers) {
    cluster.server_latency =
        std::min(cluster.server_latency, worker.link.latency);
  }
  return absl::OkStatus();
}

}  // namespace

void AddSimulateFlags(CLI::App& command, SimulateFlags& flags) {
  command.option_defaults()->always_capture_default();
  AddDeviceFlags(command, flags);
  AddRunFlags(command, flags);
  AddJobFlags(command, flags);
  AddClusterFlags(command, flags);
  AddServerFlags(command, flags);
  command.footer(absl::StrCat(kFooter, kJobFlagsHelp, kExitCodes));
}

absl::StatusOr<SimulateOptions> ParseSimulateOptions(
    const SimulateFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(JobRequest job, ParseJobFlags(flags));
  PACELINE_RETURN_IF_ERROR(CheckOwnFlags(flags));
  // A job has a model and data even where nothing is trained. Those that are
  // trained are checked when they are loaded.
  job.spec.set_model(std::string(kDefaultModel));
  job.spec.set_data(std::string(kDefaultData));
  PACELINE_ASSIGN_OR_RETURN(const JobPlan plan, ParseJob(job.spec));
  SimulateOptions options;
  options.runs = std::move(job.runs);
  options.repeat = job.repeat;
  options.target_accuracies = job.target_accuracies;
  options.json = flags.output == "json";
  options.plot = flags.plot;
  ClusterSpec& cluster = options.cluster;
  cluster.run.batch_size = plan.spec.batch_size();
  cluster.run.data_assignment = plan.data_assignment;
  cluster.run.total_momentum = TotalMomentum(plan.optimizer);
  cluster.run.ada_scale = plan.round_strength == RoundStrength::kAdaScale;
  cluster.run.lease = job.lease;
  cluster.servers = static_cast<int>(flags.servers);
  cluster.micro_batch = job.spec.micro_batch();
  cluster.seed = plan.spec.seed();
  for (SwitchAt& planned : job.switches) {
    cluster.switches.push_back({planned.share, std::move(planned.paradigm)});
  }
  PACELINE_ASSIGN_OR_RETURN(cluster.workers, ParseSimulatedWorkers(flags));
  PACELINE_ASSIGN_OR_RETURN(cluster.changes,
                            ParseMembershipChanges(flags, cluster.workers));
  PACELINE_RETURN_IF_ERROR(SetTraining(flags, plan, options));
  PACELINE_RETURN_IF_ERROR(SetEnd(flags, options));
  PACELINE_RETURN_IF_ERROR(SetNetwork(flags, options));
  PACELINE_RETURN_IF_ERROR(CheckLease(flags, cluster));
  PACELINE_RETURN_IF_ERROR(CheckPushes(flags, cluster));
  return options;
}

}  // namespace paceline
