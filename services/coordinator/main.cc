// paceline-coordinator: jobs, members, and who may go on. Its address goes to
// stdout, as {"event":"listening","address":"..."}; logs to stderr.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/checkpoint/file_store.h"
#include "common/connections/door.h"
#include "common/flag_checks.h"
#include "common/job/duration.h"
#include "common/job/job_defaults.h"
#include "common/log/log.h"
#include "common/object_store/s3_uri.h"
#include "common/plain_name.h"
#include "common/rpc/grpc_log.h"
#include "common/security/security_flags.h"
#include "common/signals.h"
#include "common/status.h"
#include "services/coordinator/process/coordinator_process.h"
#include "services/coordinator/store/store_check.h"

namespace paceline {
namespace {

struct Options {
  std::string name = "coordinator";
  std::string advertise;
  std::string leader_lock;
  std::string leader_label;
  std::string standby_of;
  bool not_first = false;
  bool fsync = false;
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
  bool local_sockets = true;
  bool check_store = false;
  std::string back_up_store;
};

// Ids must differ from those of an earlier life, so this one number comes from
// the machine; everything else is seeded by the jobs.
uint64_t Entropy() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// The folder as everybody calls it. INVALID_ARGUMENT if nothing can be kept
// there, whatever is mounted or freed later.
absl::StatusOr<std::string> ToRoot(const std::string& root) {
  if (IsS3Uri(root)) {
    PACELINE_RETURN_IF_ERROR(Annotate(FilesAt(root).status(), "--checkpoints"));
    PACELINE_ASSIGN_OR_RETURN(const S3Uri uri, ParseS3Uri(root));
    return FormatS3Uri(uri);
  }
  std::error_code error;
  if (root.empty() || std::filesystem::is_regular_file(root, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoints \"", root, "\": must be a folder"));
  }
  // Servers and callers must not depend on where this process was started.
  return std::filesystem::absolute(root);
}

absl::StatusOr<JobsOptions> ToJobsOptions(const Options& options) {
  JobsOptions jobs;
  PACELINE_ASSIGN_OR_RETURN(jobs.lease, ParseDuration("--lease", options.lease,
                                                      absl::Milliseconds(100)));
  jobs.quota.set_jobs(options.max_jobs);
  jobs.quota.set_workers(options.max_workers);
  jobs.quota.set_parameter_bytes(options.max_parameter_bytes);
  for (const std::string& root : options.checkpoints) {
    PACELINE_ASSIGN_OR_RETURN(const std::string path, ToRoot(root));
    if (jobs.checkpoint_root.empty()) {
      jobs.checkpoint_root = path;
    } else {
      jobs.checkpoint_fallbacks.push_back(path);
    }
  }
  jobs.trace_root = options.record;
  jobs.fsync = options.fsync;
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

absl::StatusOr<CoordinatorOptions> ToCoordinatorOptions(
    const Options& options) {
  CoordinatorOptions coordinator;
  coordinator.name = options.name;
  coordinator.listen = options.listen;
  coordinator.advertise = options.advertise;
  coordinator.metrics = options.metrics;
  coordinator.store = options.store;
  coordinator.checkpoints = options.checkpoints;
  coordinator.limits = ToCallLimits(options);
  coordinator.reflection = options.reflection;
  coordinator.local_sockets = options.local_sockets;
  coordinator.leader_lock = options.leader_lock;
  coordinator.leader_label = options.leader_label;
  coordinator.standby_of = options.standby_of;
  coordinator.may_begin = !options.not_first;
  PACELINE_RETURN_IF_ERROR(CheckPlainName("--name", options.name));
  PACELINE_ASSIGN_OR_RETURN(coordinator.jobs, ToJobsOptions(options));
  PACELINE_ASSIGN_OR_RETURN(coordinator.grace,
                            ParseDuration("--grace", options.grace));
  return coordinator;
}

absl::Status Run(const Options& options, const SecurityFlags& flags,
                 const sigset_t& stopping) {
  PACELINE_ASSIGN_OR_RETURN(const ServerSecurity security, flags.Server());
  PACELINE_ASSIGN_OR_RETURN(const ClientSecurity dialling, flags.Client());
  PACELINE_ASSIGN_OR_RETURN(const CoordinatorOptions coordinator,
                            ToCoordinatorOptions(options));
  absl::Notification told;
  const SignalWatch signals(stopping, [&](int) {
    if (!told.HasBeenNotified()) told.Notify();
  });
  return RunCoordinator(coordinator, security, dialling, &told);
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
         "servers share, or s3://BUCKET/PREFIX; without it jobs cannot be "
         "paused. Given again: "
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
  app.add_flag(
      "--fsync,!--no-fsync", options.fsync,
      "Flush every write to the disk, so that it survives the machine");
  app.add_flag("--reflection,!--no-reflection", options.reflection,
               "Answer gRPC reflection");
  app.add_flag("--local-sockets,!--no-local-sockets", options.local_sockets,
               "Speak with members of this machine and user by sockets of the "
               "system, which take less time than gRPC's");
  app.add_flag("--check-store", options.check_store,
               "Only read all of the store, say what is in it or what is wrong "
               "with it, and end; a coordinator may have it");
  app.add_option("--back-up-store", options.back_up_store,
                 "Only write a copy of the store to this file, check it, and "
                 "end; a coordinator may have the store")
      ->default_str("");
}

void AddLimits(CLI::App& app, Options& options) {
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
}

// Of more than one coordinator.
void AddLeadership(CLI::App& app, Options& options) {
  app.add_option("--name", options.name,
                 "Its name among the coordinators of a cluster");
  app.add_option(
         "--advertise", options.advertise,
         "host:port at which others reach it; as --listen, if not given")
      ->default_str("");
  app.add_option("--leader-lock", options.leader_lock,
                 "Where coordinators agree on who leads, if there are two: "
                 "kubernetes:LEASE, or postgresql://USER@HOST/DATABASE")
      ->default_str("");
  app.add_option("--leader-label", options.leader_label,
                 "With kubernetes:LEASE: the label that the leader's pod gets")
      ->default_str("");
  app.add_flag("--not-first", options.not_first,
               "With --leader-lock: as long as nobody has led and it has no "
               "store, it does not lead: another one has the jobs");
  app.add_option("--standby-of", options.standby_of,
                 "host:port of the coordinator that leads: this one stands by "
                 "until a person says that it leads")
      ->default_str("");
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  CLI::App app{"Coordinates paceline's jobs.", "paceline-coordinator"};
  app.set_version_flag("--version", "paceline-coordinator " PACELINE_VERSION,
                       "Print the version of this program");
  paceline::AddOptions(app, options);
  paceline::AddLimits(app, options);
  paceline::AddLeadership(app, options);
  const paceline::SecurityFlags security(app,
                                         paceline::SecurityFlags::Sides::kBoth);
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
