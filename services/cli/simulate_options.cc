#include "services/cli/simulate_options.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/cli/membership_changes.h"
#include "services/cli/simulated_workers.h"
#include "services/cli/switch_flag.h"
#include "services/coordinator/policy/rate_schedule.h"

namespace paceline {
namespace {

constexpr int64_t kMostServers = 1024;
constexpr int64_t kMostSamples = std::numeric_limits<uint32_t>::max();
constexpr int64_t kUsualIterations = 1000;
// About an hour on one core.
constexpr int64_t kMostPushes = 1'000'000'000;
constexpr char kUsualData[] = "synthetic:shapes";
constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kYear = Nanos{365} * 86'400 * 1'000'000'000;
// Samples without end: passes over so many that no sum of them overflows.
constexpr uint32_t kEndlessSamples = uint32_t{1} << 31;
constexpr uint32_t kEndlessEpochs = uint32_t{1} << 20;
// A worker counts as stuck when its first iteration takes ten leases.
constexpr double kStuckLeases = 10;
// Of an iteration (docs/simulation.md).
constexpr double kLatenciesPaid = 6;

// What would be without effect when nothing is trained.
absl::Status CheckNeedsTraining(const SimulateFlags& flags) {
  const JobFlags usual;
  const std::pair<const char*, bool> given[] = {
      {"--data", !flags.data.empty()},
      {"--target-accuracy", flags.target_accuracy != usual.target_accuracy},
      {"--learning-rate", flags.learning_rate != usual.learning_rate},
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

// The samples of an epoch that is not given by data.
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

// When the run ends: by samples, by time, or by what comes first.
absl::Status SetEnd(const SimulateFlags& flags, SimulateOptions& options) {
  ClusterSpec& cluster = options.cluster;
  const int64_t batch = flags.batch_size;
  if (!flags.duration.empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        cluster.end, ParseNanos("--duration", flags.duration, 1, 10 * kYear));
    if (flags.samples == 0 && flags.iterations == 0 && flags.train.empty()) {
      cluster.samples_end = false;
      cluster.sync.train_samples =
          static_cast<uint32_t>(kEndlessSamples / batch * batch);
      cluster.sync.epochs = kEndlessEpochs;
      return absl::OkStatus();
    }
  }
  int64_t samples = 0;
  if (options.data != nullptr) {
    samples = options.data->train.size();
  } else {
    PACELINE_ASSIGN_OR_RETURN(
        samples,
        MadeUpSamples(flags, static_cast<int64_t>(cluster.workers.size())));
  }
  if (samples / batch > kMostPushes / flags.epochs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the samples times --epochs make more than ", kMostPushes, " pushes"));
  }
  cluster.sync.train_samples = static_cast<uint32_t>(samples);
  cluster.sync.epochs = static_cast<uint32_t>(flags.epochs);
  return absl::OkStatus();
}

// Loads the data.
absl::Status SetTraining(const SimulateFlags& flags, SimulateOptions& options) {
  if (flags.train.empty()) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(
      TrainingData data,
      LoadTrainingData(flags.data.empty() ? kUsualData : flags.data,
                       flags.train, "--train"));
  options.data = std::make_shared<const TrainingData>(std::move(data));
  TrainingSpec& training = options.training;
  training.model = flags.train;
  PACELINE_ASSIGN_OR_RETURN(training.optimizer,
                            ParseOptimizerSpec(flags.optimizer));
  PACELINE_ASSIGN_OR_RETURN(training.round_strength,
                            ParseRoundStrength(flags.round_strength));
  training.batch_size = static_cast<uint32_t>(flags.batch_size);
  training.micro_batch = static_cast<uint32_t>(flags.micro_batch);
  training.seed = options.cluster.seed;
  training.target_accuracy = flags.target_accuracy;
  training.stop_at_target = flags.stop_at_target;
  return absl::OkStatus();
}

// What of the core only those see who train. After SetEnd().
absl::Status SetRateAndSnapshots(const SimulateFlags& flags,
                                 SimulateOptions& options) {
  if (options.data == nullptr) return absl::OkStatus();
  SyncOptions& sync = options.cluster.sync;
  PACELINE_ASSIGN_OR_RETURN(const RateSpec rate, ParseRateSpec(flags.schedule));
  sync.schedule = RateSchedule(flags.learning_rate, rate,
                               int64_t{sync.train_samples} * sync.epochs);
  sync.eval_every = EvaluationInterval(flags.eval_every, sync.train_samples);
  return absl::OkStatus();
}

// A whole iteration of a worker that waits for nobody.
double IterationSeconds(const WorkerSpec& worker, const ClusterSpec& cluster) {
  double seconds = ToSeconds(worker.device.iteration) +
                   kLatenciesPaid * ToSeconds(worker.link.latency);
  if (worker.link.bytes_per_second > 0) {
    seconds += 2 * static_cast<double>(cluster.model_bytes) /
               (worker.link.bytes_per_second * cluster.sync.servers);
  }
  return seconds;
}

absl::Status SetLease(const SimulateFlags& flags, ClusterSpec& cluster) {
  PACELINE_ASSIGN_OR_RETURN(
      const Nanos lease,
      ParseNanos("--lease", flags.lease, kMillisecond, kYear));
  cluster.sync.lease = absl::Nanoseconds(lease);
  for (const WorkerSpec& worker : cluster.workers) {
    const double seconds = IterationSeconds(worker, cluster);
    if (seconds < kStuckLeases * ToSeconds(lease)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--lease ", flags.lease, ": worker ", worker.name, " takes ",
        absl::FormatDuration(absl::Seconds(seconds)),
        " for an iteration, computing, latencies and transfers; after ten "
        "leases it counts as stuck, so give a longer lease"));
  }
  return absl::OkStatus();
}

// Without samples that end, time alone bounds the work.
absl::Status CheckPushes(const SimulateFlags& flags,
                         const ClusterSpec& cluster) {
  if (cluster.samples_end) return absl::OkStatus();
  double pushes = 0;
  for (const WorkerSpec& worker : cluster.workers) {
    pushes += ToSeconds(cluster.end) / IterationSeconds(worker, cluster);
  }
  if (pushes <= kMostPushes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--duration ", flags.duration, ": more than ", kMostPushes,
                   " pushes; simulate a shorter time"));
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
  // The coordinator is as near to the servers as the nearest worker.
  cluster.server_latency = cluster.workers.front().link.latency;
  for (const WorkerSpec& worker : cluster.workers) {
    cluster.server_latency =
        std::min(cluster.server_latency, worker.link.latency);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SimulateOptions> ParseSimulateOptions(
    const SimulateFlags& flags) {
  PACELINE_RETURN_IF_ERROR(CheckJobFlags(flags));
  PACELINE_RETURN_IF_ERROR(CheckOwnFlags(flags));
  SimulateOptions options;
  options.paradigms = flags.paradigms;
  if (options.paradigms.empty()) options.paradigms.push_back("bsp");
  options.json = flags.output == "json";
  options.plot = flags.plot;
  ClusterSpec& cluster = options.cluster;
  cluster.sync.batch_size = static_cast<uint32_t>(flags.batch_size);
  cluster.sync.servers = static_cast<int>(flags.servers);
  cluster.sync.batching =
      flags.batching == "balanced" ? Batching::kBalanced : Batching::kEven;
  cluster.micro_batch = static_cast<uint32_t>(flags.micro_batch);
  PACELINE_ASSIGN_OR_RETURN(cluster.seed, ParseSeedFlag(flags.seed));
  PACELINE_ASSIGN_OR_RETURN(const std::vector<SwitchAt> switches,
                            ParseSwitches(flags.switch_at));
  for (const SwitchAt& planned : switches) {
    cluster.switches.push_back({planned.share, planned.paradigm});
  }
  PACELINE_ASSIGN_OR_RETURN(cluster.workers, ParseSimulatedWorkers(flags));
  PACELINE_ASSIGN_OR_RETURN(cluster.changes,
                            ParseMembershipChanges(flags, cluster.workers));
  PACELINE_RETURN_IF_ERROR(SetTraining(flags, options));
  PACELINE_RETURN_IF_ERROR(SetEnd(flags, options));
  PACELINE_RETURN_IF_ERROR(SetRateAndSnapshots(flags, options));
  PACELINE_RETURN_IF_ERROR(SetNetwork(flags, options));
  PACELINE_RETURN_IF_ERROR(SetLease(flags, cluster));
  PACELINE_RETURN_IF_ERROR(CheckPushes(flags, cluster));
  return options;
}

}  // namespace paceline
