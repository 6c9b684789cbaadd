#include "services/cli/simulate_options.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/flag_values.h"
#include "services/cli/membership_changes.h"
#include "services/cli/simulated_workers.h"
#include "services/cli/switch_flag.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {
namespace {

constexpr int64_t kMostBatch = 65536;
constexpr int64_t kMostServers = 1024;
constexpr int64_t kMostEpochs = 1'000'000;
constexpr int64_t kMostSamples = std::numeric_limits<uint32_t>::max();
constexpr int64_t kUsualIterations = 1000;
// About an hour on one core.
constexpr int64_t kMostPushes = 1'000'000'000;
constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kYear = Nanos{365} * 86'400 * 1'000'000'000;
// Samples without end: passes over so many that no sum of them overflows.
constexpr uint32_t kEndlessSamples = uint32_t{1} << 31;
constexpr uint32_t kEndlessEpochs = uint32_t{1} << 20;
// A worker counts as stuck when its first iteration takes ten leases.
constexpr Nanos kStuckLeases = 10;

absl::Status CheckCounts(const SimulateFlags& flags) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--batch-size", flags.batch_size, 1, kMostBatch));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--micro-batch", flags.micro_batch, 0, flags.batch_size));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--servers", flags.servers, 1, kMostServers));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--epochs", flags.epochs, 1, kMostEpochs));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--samples", flags.samples, 0, kMostSamples));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--iterations", flags.iterations, 0, kMostPushes));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--batching", flags.batching, {"even", "balanced"}));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--output", flags.output, {"table", "json"}));
  if (flags.samples > 0 && flags.iterations > 0) {
    return absl::InvalidArgumentError(
        "--iterations contradicts --samples: both say when the run ends");
  }
  if (flags.samples == 0 && flags.epochs > 1) {
    return absl::InvalidArgumentError("--epochs needs --samples");
  }
  return absl::OkStatus();
}

absl::Status CheckParadigms(const SimulateFlags& flags) {
  for (const std::string& paradigm : flags.paradigms) {
    PACELINE_RETURN_IF_ERROR(Annotate(MakePolicy(paradigm).status(),
                                      absl::StrCat("--paradigm ", paradigm)));
  }
  return absl::OkStatus();
}

// When the run ends: by samples, by time, or by what comes first.
absl::Status SetEnd(const SimulateFlags& flags, ClusterSpec& cluster) {
  const auto batch = static_cast<uint32_t>(flags.batch_size);
  const auto workers = static_cast<int64_t>(cluster.workers.size());
  if (!flags.duration.empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        cluster.end, ParseNanos("--duration", flags.duration, 1, 10 * kYear));
    if (flags.samples == 0 && flags.iterations == 0) {
      cluster.samples_end = false;
      cluster.sync.train_samples = kEndlessSamples / batch * batch;
      cluster.sync.epochs = kEndlessEpochs;
      return absl::OkStatus();
    }
  }
  int64_t samples = flags.samples;
  if (samples == 0) {
    const int64_t iterations =
        flags.iterations == 0 ? kUsualIterations : flags.iterations;
    if (iterations > kMostSamples / batch / workers) {
      return absl::InvalidArgumentError(
          absl::StrCat("--iterations ", iterations, ": with ", workers,
                       " workers and batches of ", batch, " at most ",
                       kMostSamples / batch / workers));
    }
    samples = iterations * workers * batch;
  }
  if (samples / batch > kMostPushes / flags.epochs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--samples, --epochs: more than ", kMostPushes, " pushes"));
  }
  cluster.sync.train_samples = static_cast<uint32_t>(samples);
  cluster.sync.epochs = static_cast<uint32_t>(flags.epochs);
  return absl::OkStatus();
}

absl::Status SetLease(const SimulateFlags& flags, ClusterSpec& cluster) {
  PACELINE_ASSIGN_OR_RETURN(
      const Nanos lease,
      ParseNanos("--lease", flags.lease, kMillisecond, kYear));
  cluster.sync.lease = absl::Nanoseconds(lease);
  for (const WorkerSpec& worker : cluster.workers) {
    const Nanos slowest = worker.device.iteration;
    if (slowest < kStuckLeases * lease) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--lease ", flags.lease, ": worker ", worker.name, " takes ",
        absl::FormatDuration(absl::Nanoseconds(slowest)),
        " for an iteration; after ten leases it counts as stuck, so give a "
        "longer lease"));
  }
  return absl::OkStatus();
}

absl::Status SetNetwork(const SimulateFlags& flags, ClusterSpec& cluster) {
  PACELINE_ASSIGN_OR_RETURN(const double bytes,
                            ParseBytes("--model-bytes", flags.model_bytes));
  cluster.model_bytes = static_cast<int64_t>(bytes);
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
  PACELINE_RETURN_IF_ERROR(CheckCounts(flags));
  PACELINE_RETURN_IF_ERROR(CheckParadigms(flags));
  SimulateOptions options;
  options.paradigms = flags.paradigms;
  if (options.paradigms.empty()) options.paradigms.push_back("bsp");
  options.json = flags.output == "json";
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
  PACELINE_RETURN_IF_ERROR(SetEnd(flags, cluster));
  PACELINE_RETURN_IF_ERROR(SetLease(flags, cluster));
  PACELINE_RETURN_IF_ERROR(SetNetwork(flags, cluster));
  return options;
}

}  // namespace paceline
