// paceline-coordinator: jobs, members, and who may go on. Its address goes to
// stdout, as {"event":"listening","address":"..."}; logs to stderr.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/connections/connection_accounts.h"
#include "common/connections/door.h"
#include "common/flag_checks.h"
#include "common/job/duration.h"
#include "common/job/job_defaults.h"
#include "common/log/log.h"
#include "common/metrics/series.h"
#include "common/metrics/serve_monitoring.h"
#include "common/rpc/channel.h"
#include "common/rpc/connection_report.h"
#include "common/rpc/grpc_log.h"
#include "common/rpc/rpc_metrics.h"
#include "common/rpc/stream_registry.h"
#include "common/safetensors/durable_file.h"
#include "common/security/call_guard.h"
#include "common/security/certificate_watch.h"
#include "common/security/security_flags.h"
#include "common/signals.h"
#include "common/status.h"
#include "services/coordinator/admin/admin_services.h"
#include "services/coordinator/admin/answering.h"
#include "services/coordinator/control/checkpoint_folders.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/fleet/fleet_service.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/store/job_store.h"
#include "services/coordinator/store/store_check.h"

namespace paceline {
namespace {

struct Options {
  std::string listen = "127.0.0.1:7070";
  std::string metrics = "127.0.0.1:0";
  std::string store;
  std::vector<std::string> checkpoints;
  std::string record;
  std::string lease = absl::FormatDuration(kDefaultLease);
  std::string grace = "20s";
  uint32_t replicas = 0;
  uint32_t max_jobs = 0;
  uint32_t max_workers = 0;
  uint64_t max_parameter_bytes = 0;
  double max_requests = 1'000;
  size_t max_streams = 10'000;
  bool reflection = true;
  bool check_store = false;
  std::string back_up_store;
};

// Ids must differ from those of an earlier life, so this one number comes from
// the machine; everything else is seeded by the jobs.
uint64_t Entropy() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// Nothing can be kept there, whatever is mounted or freed later.
absl::Status CheckRoot(const std::string& root) {
  std::error_code error;
  if (root.empty() || std::filesystem::is_regular_file(root, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoints \"", root, "\": must be a folder"));
  }
  return absl::OkStatus();
}

absl::StatusOr<JobsOptions> ToJobsOptions(const Options& options) {
  JobsOptions jobs;
  PACELINE_ASSIGN_OR_RETURN(jobs.lease, ParseDuration("--lease", options.lease,
                                                      absl::Milliseconds(100)));
  jobs.quota.set_jobs(options.max_jobs);
  jobs.quota.set_workers(options.max_workers);
  jobs.quota.set_parameter_bytes(options.max_parameter_bytes);
  for (const std::string& root : options.checkpoints) {
    PACELINE_RETURN_IF_ERROR(CheckRoot(root));
    // Servers and callers must not depend on where this process was started.
    const std::string path = std::filesystem::absolute(root);
    if (jobs.checkpoint_root.empty()) {
      jobs.checkpoint_root = path;
    } else {
      jobs.checkpoint_fallbacks.push_back(path);
    }
  }
  jobs.trace_root = options.record;
  jobs.replicas = options.replicas;
  jobs.frozen_after = jobs.lease / 2;
  jobs.version = PACELINE_VERSION;
  jobs.entropy = Entropy();
  return jobs;
}

CallLimits ToCallLimits(const Options& options) {
  CallLimits limits;
  limits.requests.per_second = options.max_requests;
  limits.requests.burst = std::max(1.0, 2 * options.max_requests);
  limits.open_streams = options.max_streams;
  return limits;
}

std::vector<std::string> RootsOf(const JobsOptions& options) {
  std::vector<std::string> roots = options.checkpoint_fallbacks;
  if (!options.checkpoint_root.empty()) {
    roots.insert(roots.begin(), options.checkpoint_root);
  }
  return roots;
}

// Both outlive what asks.
std::function<Readiness::Part()> PartOf(const JobStore* store,
                                        const CheckpointFolders* folders) {
  return [store, folders] {
    absl::Status status = store->health();
    status.Update(folders->NeverUsable());
    return Readiness::Part{status, status.ok() ? folders->Troubles() : ""};
  };
}

// In the reverse order of the start; every stage is bounded.
void Drain(Jobs& jobs, StreamRegistry& streams, RpcServer& server,
           absl::Duration grace) {
  // 1. Balancers send nothing new.
  server.SetServing(false);
  // 2. What runs saves itself.
  jobs.Drain(grace);
  // 3. Ends the streams whose peers still read.
  streams.CloseAll(absl::UnavailableError("the coordinator is stopping"));
  // 4. Cancels the rest: a peer that stopped reading holds its last write.
  server.Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  server.Wait();
  // 5. Every OnDone() has run.
  streams.AwaitEmpty(absl::Seconds(5));
}

void Announce(const std::string& address) {
  const std::string line =
      nlohmann::ordered_json{{"event", "listening"}, {"address", address}}
          .dump() +
      "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void LogListening(const Options& options, const ListeningServer& listening,
                  int metrics_port) {
  LogInfo(
      "listening",
      {{"address", listening.address},
       {"metrics_port", metrics_port},
       {"lease", options.lease},
       {"store", options.store},
       {"checkpoints", absl::StrJoin(options.checkpoints, ", ")},
       {"security", listening.security.tls != nullptr ? "tls" : "plaintext"}});
}

// With the folder of the runs' journals beside it, unless it keeps nothing.
absl::StatusOr<std::unique_ptr<JobStore>> OpenStore(const Options& options,
                                                    JobsOptions& jobs) {
  PACELINE_ASSIGN_OR_RETURN(auto store, JobStore::Open(options.store));
  if (options.store == ":memory:") return store;
  jobs.journal_root = absl::StrCat(options.store, ".runs");
  PACELINE_RETURN_IF_ERROR(MakeFolders(jobs.journal_root));
  return store;
}

absl::Status Run(const Options& options, const SecurityFlags& flags,
                 const sigset_t& stopping) {
  PACELINE_ASSIGN_OR_RETURN(const ServerSecurity security, flags.Server());
  PACELINE_ASSIGN_OR_RETURN(JobsOptions jobs_options, ToJobsOptions(options));
  PACELINE_ASSIGN_OR_RETURN(const absl::Duration grace,
                            ParseDuration("--grace", options.grace));
  auto registry = std::make_shared<prometheus::Registry>();
  ExportBuild(*registry, PACELINE_VERSION);
  PACELINE_ASSIGN_OR_RETURN(const auto store, OpenStore(options, jobs_options));
  JobJournal journal(store.get());
  const CheckpointFolders folders(RootsOf(jobs_options), Entropy());
  jobs_options.folders = [&folders] { return folders.Get(); };
  PACELINE_ASSIGN_OR_RETURN(
      const auto jobs, Jobs::Create(jobs_options, &Clock::Real(), store.get(),
                                    &journal, registry.get()));
  const auto readiness = std::make_shared<Readiness>();
  PACELINE_ASSIGN_OR_RETURN(
      const auto monitoring,
      Monitoring::Serve(
          options.metrics,
          {registry, std::make_shared<CertificateMetrics>(security.tls)},
          readiness));
  const ReadinessPart part(readiness.get(), PartOf(store.get(), &folders));
  ConnectionAccounts accounts;
  ConnectionReport connections(*registry);
  CallGuard guard(security, ToCallLimits(options), &Clock::Real(), &accounts);
  Answering answering(&guard, &journal);
  StreamRegistry streams;
  FleetMetrics fleet_metrics(*registry);
  const auto fleet =
      MakeFleetService(&jobs->fleet(), &guard, &streams, &fleet_metrics);
  WatchPump pump;
  const auto job_admin =
      MakeJobService(jobs.get(), &answering, &streams, &pump);
  const auto cluster_admin =
      MakeClusterService(jobs.get(), &answering, absl::Now());
  RpcMetrics calls(*registry, {"paceline.v1.Fleet", "paceline.v1.JobService",
                               "paceline.v1.ClusterService"});
  ListenOptions listen;
  listen.reflection = options.reflection;
  listen.metrics = &calls;
  listen.accounts = &accounts;
  listen.connections = &connections;
  PACELINE_ASSIGN_OR_RETURN(
      const ListeningServer listening,
      Listen(options.listen, ChannelProfile::kControl, security,
             {fleet.get(), job_admin.get(), cluster_admin.get()}, listen));
  LogListening(options, listening, monitoring->port());
  readiness->Set(absl::OkStatus());
  Announce(listening.address);
  absl::Notification told;
  const SignalWatch signals(stopping, [&](int) {
    if (!told.HasBeenNotified()) told.Notify();
  });
  told.WaitForNotification();
  LogInfo("told to stop");
  readiness->Set(absl::UnavailableError("it is stopping"));
  Drain(*jobs, streams, *listening.server, grace);
  return absl::OkStatus();
}

// Without a coordinator. To stdout, for a person or a script.
absl::Status LookAtStore(const Options& options) {
  const bool copies = !options.back_up_store.empty();
  PACELINE_ASSIGN_OR_RETURN(
      const StoreContents contents,
      copies ? BackUpStore(options.store, options.back_up_store)
             : CheckStore(options.store));
  std::printf("%s is sound: %s\n",
              (copies ? options.back_up_store : options.store).c_str(),
              contents.Describe().c_str());
  return absl::OkStatus();
}

void AddOptions(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--listen", options.listen,
                 "host:port of members and of the admin API; port 0: any free "
                 "one");
  app.add_option(
      "--metrics", options.metrics,
      "host:port of /metrics, /healthz and /readyz; port 0: any free "
      "one");
  app.add_option("--store", options.store,
                 "The SQLite file of jobs and their history; beside it, in "
                 "FILE.runs, is what another life of the coordinator needs to "
                 "go on with its jobs; :memory: keeps nothing")
      ->required();
  app.add_option(
         "--checkpoints", options.checkpoints,
         "The folder of checkpoints, which coordinator and parameter "
         "servers share; without it jobs cannot be paused. Given again: "
         "where the weights of a job are saved that cannot be saved in "
         "the first")
      ->allow_extra_args(false)
      ->default_str("");
  app.add_option("--record", options.record,
                 "Write every iteration's times into this folder, a file a "
                 "run, for `paceline simulate --trace`")
      ->default_str("");
  app.add_option("--lease", options.lease,
                 "A member not heard for so long is lost; all other times "
                 "derive from it");
  app.add_option("--grace", options.grace,
                 "On SIGTERM jobs have so long to save themselves");
  app.add_option("--replicas", options.replicas,
                 "Backups of each part of a job's model on another server, "
                 "where the job does not say: 0 or 1")
      ->check(CLI::Range(0, 1));
  app.add_option("--max-jobs", options.max_jobs,
                 "Of a namespace, that have not ended; 0: no limit");
  app.add_option("--max-workers", options.max_workers,
                 "Of a namespace at a time; 0: no limit");
  app.add_option("--max-parameter-bytes", options.max_parameter_bytes,
                 "Of a namespace's jobs (100GiB); 0: no limit")
      ->transform(AsBytes());
  app.add_option("--max-requests", options.max_requests,
                 "Of each caller in a second, and of refused calls of each "
                 "address; 0: no limit")
      ->check(CLI::Range(0.0, 1e9))
      ->check(IsNumber());
  app.add_option("--max-streams", options.max_streams,
                 "Of each caller at a time; 0: no limit")
      ->check(NotNegative());
  app.add_flag("--check-store", options.check_store,
               "Only read all of the store, say what is in it or what is wrong "
               "with it, and end; a coordinator may have it");
  app.add_option("--back-up-store", options.back_up_store,
                 "Only write a copy of the store to this file, check it, and "
                 "end; a coordinator may have the store")
      ->default_str("");
  app.add_flag("--reflection,!--no-reflection", options.reflection,
               "Answer gRPC reflection");
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  CLI::App app{"Coordinates paceline's jobs.", "paceline-coordinator"};
  paceline::AddOptions(app, options);
  const paceline::SecurityFlags security(
      app, paceline::SecurityFlags::Sides::kServer);
  CLI11_PARSE(app, argc, argv);

  if (options.check_store || !options.back_up_store.empty()) {
    const absl::Status looked = paceline::LookAtStore(options);
    if (looked.ok()) return 0;
    std::fprintf(stderr, "%s\n", paceline::Summary(looked).c_str());
    return 1;
  }
  const sigset_t stopping = paceline::KeepSignals({SIGTERM, SIGINT});
  paceline::StartLogging("coordinator");
  paceline::LogWhatGrpcLogs();
  paceline::RaiseDescriptorLimit();
  const absl::Status status = paceline::Run(options, security, stopping);
  if (status.ok()) return 0;
  paceline::LogError(paceline::Summary(status));
  return 1;
}
