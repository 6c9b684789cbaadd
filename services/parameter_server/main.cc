// paceline-server: hosts blocks of the parameters of jobs. Logs go to stderr.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/checkpoint/file_store.h"
#include "common/checkpoint/shared_folder.h"
#include "common/clock.h"
#include "common/connections/connection_accounts.h"
#include "common/connections/door.h"
#include "common/flag_checks.h"
#include "common/job/duration.h"
#include "common/lane/lane_door.h"
#include "common/log/log.h"
#include "common/metrics/series.h"
#include "common/metrics/serve_monitoring.h"
#include "common/plain_name.h"
#include "common/rpc/channel.h"
#include "common/rpc/connection_report.h"
#include "common/rpc/connections_flag.h"
#include "common/rpc/coordinator_addresses.h"
#include "common/rpc/grpc_log.h"
#include "common/rpc/stream_registry.h"
#include "common/security/call_guard.h"
#include "common/security/certificate_watch.h"
#include "common/security/security_flags.h"
#include "common/signals.h"
#include "common/status.h"
#include "common/usable_memory.h"
#include "services/parameter_server/advertised_address.h"
#include "services/parameter_server/command_runner.h"
#include "services/parameter_server/coordinator_link.h"
#include "services/parameter_server/parameter_service.h"
#include "services/parameter_server/replication_service.h"
#include "services/parameter_server/server_metrics.h"
#include "services/parameter_server/shard.h"

namespace paceline {
namespace {

struct Options {
  std::string coordinator;
  std::string name;
  std::string listen = "127.0.0.1:0";
  std::string advertise;
  std::string metrics = "127.0.0.1:0";
  std::vector<std::string> checkpoints;
  std::string grace = "20s";
  std::string orphan = absl::FormatDuration(kDefaultOrphan);
  std::string failure_domain;
  bool share_memory = true;
  uint32_t connections = 0;
  ServerLimits limits = ServerLimits::ForMemory(UsableMemory(""));
};

// What all workers may have sent and the server not yet summed up: an eighth of
// the memory, beside the half for parameters and the quarter for snapshots; but
// what a few workers send at once in any case.
int64_t BytesOnTheirWay() {
  return std::max(int64_t{256} << 20,
                  static_cast<int64_t>(UsableMemory("") / 8));
}

// The rest of a stop, after what was hosted has been saved and the link has
// left the coordinator: in the reverse order of the start, every stage bounded.
void Drain(Shard& shard, StreamRegistry& streams, RpcServer& server) {
  // 1. Parked pulls end, new frames fail.
  shard.Stop("the server is stopping");
  // 2. Ends the streams whose peers still read.
  streams.CloseAll(absl::UnavailableError("the server is stopping"));
  // 3. Cancels the rest: a peer that stopped reading holds its last write.
  server.Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  server.Wait();
  // 4. Every OnDone() has run.
  streams.AwaitEmpty(absl::Seconds(5));
}

// Gives up what is being read or written. Its disk may not answer any more: a
// thread that waits for it cannot be ended, nor waited for, but by the end of
// the process, which `outcome` is of.
absl::Status LeaveWhatHangs(CommandRunner& runner,
                            const absl::Status& outcome) {
  runner.DropAll("the server is stopping");
  const absl::Time deadline = absl::Now() + absl::Seconds(1);
  while (!runner.idle() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  if (runner.idle()) return outcome;
  LogWarning("ends without waiting for the disk of a checkpoint, which hangs");
  if (!outcome.ok()) LogError(Summary(outcome));
  std::_Exit(outcome.ok() ? 0 : 1);
}

// One that is full may have room again when something is saved.
std::function<Readiness::Part()> PartOf(const CommandRunner* runner) {
  return [runner]() -> Readiness::Part {
    const absl::Status folders = runner->folders();
    if (!IsUsable(folders)) return {folders};
    return {absl::OkStatus(), std::string(folders.message())};
  };
}

void LogListening(const ListeningServer& listening,
                  const std::string& advertised, int metrics_port,
                  const std::string& orphan) {
  LogInfo("listening", {{"address", listening.address},
                        {"advertised", advertised},
                        {"metrics_port", metrics_port},
                        {"orphan", orphan}});
}

ReplicaStream::Dial DialBackups(ClientSecurity security) {
  // The coordinator's name is none of theirs.
  security.server_name.clear();
  return [security](const std::string& address, absl::Duration liveness) {
    return MakeChannel(address, ChannelProfile::kBulk, liveness, security);
  };
}

// The last lines of this process, for as long as anything may be logged.
LogRing& ProcessLog() {
  static auto& ring = *new LogRing;
  return ring;
}

CoordinatorLink::Options LinkOptions(const Options& options,
                                     const ClientSecurity& security,
                                     const std::string& address) {
  CoordinatorLink::Options link;
  link.address = address;
  link.max_bytes = options.limits.max_bytes();
  const auto addresses =
      std::make_shared<CoordinatorAddresses>(options.coordinator);
  link.connect = [security, addresses](absl::Duration liveness) {
    return MakeChannel(addresses->Next(), ChannelProfile::kControl, liveness,
                       security);
  };
  link.refused = [addresses] { addresses->Stay(); };
  link.name = options.name;
  link.version = PACELINE_VERSION;
  link.tell_log = [](const v1::TellLog& question) {
    return TellLog(question, {{v1::LogLine::PROCESS, &ProcessLog()}});
  };
  link.failure_domain = options.failure_domain;
  link.connections =
      ConnectionsTowards(options.coordinator, options.connections);
  return link;
}

// Null: no memory is shared.
std::unique_ptr<LaneDoor> OpenLanes(const Options& options, Shard& shard) {
  if (!options.share_memory) return nullptr;
  absl::StatusOr<std::unique_ptr<LaneDoor>> lanes = LaneDoor::Open();
  if (lanes.ok()) {
    shard.ShareWeights();
    return *std::move(lanes);
  }
  LogWarning("shares no memory with workers of this machine",
             {{"reason", Summary(lanes.status())}});
  return nullptr;
}

// INVALID_ARGUMENT if it can have no such name, or nothing can ever be in a
// folder of checkpoints.
absl::Status CheckNames(const Options& options) {
  PACELINE_RETURN_IF_ERROR(CheckPlainName("--name", options.name));
  for (const std::string& root : options.checkpoints) {
    PACELINE_RETURN_IF_ERROR(Annotate(FilesAt(root).status(), "--checkpoints"));
  }
  return absl::OkStatus();
}

struct Times {
  absl::Duration grace;
  absl::Duration orphan;
};

absl::StatusOr<Times> TimesOf(const Options& options) {
  Times times;
  PACELINE_ASSIGN_OR_RETURN(times.grace,
                            ParseDuration("--grace", options.grace));
  PACELINE_ASSIGN_OR_RETURN(times.orphan,
                            ParseDuration("--orphan", options.orphan));
  return times;
}

void AddLimits(CLI::App& app, ServerLimits& limits) {
  app.add_option("--max-jobs", limits.max_jobs, "Jobs hosted at most")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option(
         "--max-parameter-bytes", limits.max_state_bytes,
         "Weights and optimizer state of all jobs at most (100GiB), and "
         "half as much again for what paradigms make it hold; default: "
         "half of the memory")
      ->transform(AsBytes());
  app.add_option("--max-snapshot-bytes", limits.max_snapshot_bytes,
                 "Snapshots of all jobs that wait to be evaluated at most; "
                 "default: a quarter of the memory")
      ->transform(AsBytes());
}

absl::Status Run(const Options& options, const SecurityFlags& flags,
                 const sigset_t& stopping) {
  PACELINE_RETURN_IF_ERROR(CheckNames(options));
  PACELINE_ASSIGN_OR_RETURN(const ServerSecurity security, flags.Server());
  PACELINE_ASSIGN_OR_RETURN(const ClientSecurity dialing, flags.Client());
  for (const auto& address : SplitCoordinatorAddresses(options.coordinator)) {
    PACELINE_RETURN_IF_ERROR(CheckDialAddress(address, dialing));
  }
  PACELINE_ASSIGN_OR_RETURN(const Times times, TimesOf(options));
  auto registry = std::make_shared<prometheus::Registry>();
  ExportBuild(*registry, PACELINE_VERSION);
  ServerMetrics metrics(*registry);
  const auto readiness = std::make_shared<Readiness>();
  PACELINE_ASSIGN_OR_RETURN(
      const auto monitoring,
      Monitoring::Serve(
          options.metrics,
          {registry, std::make_shared<CertificateMetrics>(security.tls)},
          readiness));
  Shard shard(options.limits);
  StreamRegistry streams;
  ConnectionAccounts accounts;
  ConnectionReport connections(*registry);
  CallGuard guard(security, {}, &Clock::Real(), &accounts);
  const std::unique_ptr<LaneDoor> lanes = OpenLanes(options, shard);
  ParameterService service(&shard, &Clock::Real(), &metrics, &streams, &guard,
                           lanes.get());
  ReplicationService replication(&shard, &streams, &guard);
  PACELINE_ASSIGN_OR_RETURN(const ListeningServer listening,
                            Listen(options.listen, ChannelProfile::kBulk,
                                   security, {&service, &replication},
                                   {.accounts = &accounts,
                                    .connections = &connections,
                                    .known_bytes = BytesOnTheirWay()}));
  PACELINE_ASSIGN_OR_RETURN(
      const std::string address,
      AdvertisedAddress(options.advertise, listening.address));
  LogListening(listening, address, monitoring->port(), options.orphan);
  CommandRunner runner(&shard, &metrics, options.checkpoints,
                       DialBackups(dialing));
  const ReadinessPart folders(readiness.get(), PartOf(&runner));
  CoordinatorLink::Options linked = LinkOptions(options, dialing, address);
  linked.orphan = times.orphan;
  linked.registration = [&](const absl::Status& status) {
    readiness->Set(status);
  };
  CoordinatorLink link(std::move(linked), &runner, [&](absl::Duration lease) {
    service.SetPullTimeout(lease);
    runner.SetLease(lease);
    runner.TakeTurn(Clock::Real().Now());
  });
  // The first signal asks, the second does not wait.
  const SignalWatch signals(stopping, [&, asked = false](int) mutable {
    link.Stop(asked ? absl::ZeroDuration() : times.grace);
    asked = true;
  });
  const absl::Status outcome = link.Run();
  Drain(shard, streams, *listening.server);
  return LeaveWhatHangs(runner, outcome);
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  CLI::App app{"Holds shares of the parameters of paceline jobs.",
               "paceline-server"};
  app.set_version_flag("--version", "paceline-server " PACELINE_VERSION,
                       "Print the version of this program");
  app.add_option("--coordinator", options.coordinator,
                 "host:port; where there are two, both: host:port,host:port")
      ->required();
  app.add_option("--name", options.name, "The member's name, s0")->required();
  app.add_option("--listen", options.listen, "host:port; port 0: any free one")
      ->capture_default_str();
  app.add_option("--advertise", options.advertise,
                 "host:port that workers dial, port 0: the one listened on; "
                 "needed where --listen is a wildcard such as 0.0.0.0");
  app.add_option(
         "--metrics", options.metrics,
         "host:port of /metrics, /healthz and /readyz; port 0: any free "
         "one")
      ->capture_default_str();
  app.add_option("--checkpoints", options.checkpoints,
                 "Folder or s3://BUCKET/PREFIX that checkpoints are read and "
                 "written below; may be given again, as to the coordinator; "
                 "default: wherever that says")
      ->allow_extra_args(false)
      ->default_str("");
  app.add_option("--grace", options.grace,
                 "On SIGTERM the jobs that it hosts have so long to be saved")
      ->capture_default_str();
  app.add_option("--orphan", options.orphan,
                 "Without a coordinator it keeps what it hosts for so long")
      ->capture_default_str();
  app.add_option("--failure-domain", options.failure_domain,
                 "What fails together with this server, its node's name say: a "
                 "backup is kept in another one where there is one");
  paceline::AddLimits(app, options.limits);
  app.add_option("--share-memory", options.share_memory,
                 "Exchange weights and gradients with workers of this machine "
                 "and user through shared memory: true or false")
      ->capture_default_str();
  paceline::AddConnections(app, options.connections, "worker");
  const paceline::SecurityFlags security(app,
                                         paceline::SecurityFlags::Sides::kBoth);
  CLI11_PARSE(app, argc, argv);

  const sigset_t stopping = paceline::KeepSignals({SIGTERM, SIGINT});
  paceline::KeepLogLines(&paceline::ProcessLog());
  paceline::StartLogging("server " + options.name);
  paceline::LogWhatGrpcLogs();
  paceline::RaiseDescriptorLimit();
  const absl::Status status = paceline::Run(options, security, stopping);
  if (status.ok()) return 0;
  paceline::LogError(paceline::Summary(status));
  return 1;
}
