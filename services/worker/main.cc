// paceline-worker: computes gradients, or evaluates, for one job after the
// other; itself, or as the agent of a program. Logs go to stderr. SIGTERM makes
// it finish or give back its batch and exit with 0; a second one drops the
// batch at once.

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/flag_checks.h"
#include "common/in_flight.h"
#include "common/job/duration.h"
#include "common/log/log.h"
#include "common/metrics/series.h"
#include "common/metrics/serve_monitoring.h"
#include "common/plain_name.h"
#include "common/rpc/channel.h"
#include "common/rpc/connections_flag.h"
#include "common/rpc/coordinator_addresses.h"
#include "common/rpc/grpc_log.h"
#include "common/security/certificate_watch.h"
#include "common/security/security_flags.h"
#include "common/signals.h"
#include "common/status.h"
#include "services/worker/device_info.h"
#include "services/worker/dial.h"
#include "services/worker/pace/pace_spec.h"
#include "services/worker/program/program_agent.h"
#include "services/worker/worker.h"
#include "services/worker/worker_metrics.h"
#include "services/worker/workers_in_turn.h"

namespace paceline {
namespace {

struct Options {
  std::string coordinator;
  std::string name;
  std::string pool = "default";
  std::vector<std::string> labels;
  std::string device = "auto";
  std::optional<std::string> data_root;
  std::optional<std::string> gpu_model;
  std::optional<uint64_t> memory;
  std::string metrics = "127.0.0.1:0";
  std::string patience = "0";
  std::string grace = "20s";
  std::string orphan = absl::FormatDuration(kDefaultOrphan);
  std::string program;
  std::string program_socket;
  std::string exec;
  std::string program_log;
  std::string slowdown;
  std::string step_time;
  std::string delay;
  std::string pause;
  std::string micro_batch_cost;
  int threads = 1;
  int in_flight = 1;
  double gpu_memory_fraction = 1;
  bool data_anywhere = false;
  bool evaluator = false;
  bool low_priority = false;
  uint32_t connections = 0;
};

absl::StatusOr<DeviceInfo> DeviceOf(const Options& options) {
  PACELINE_ASSIGN_OR_RETURN(DeviceInfo device, DescribeDevice(options.device));
  if (!options.program.empty() && device.devices.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device ", options.device,
                     ": a program chooses its devices itself: name one"));
  }
  if (!device.no_gpu.empty()) {
    LogInfo("computes on the CPU", {{"no_gpu", device.no_gpu}});
  }
  if (!device.unlike.empty()) {
    LogWarning("its GPUs are not alike, and the slowest sets the pace",
               {{"gpus", device.unlike}});
  }
  return device;
}

absl::StatusOr<v1::WorkerHello> HelloOf(const Options& options,
                                        const DeviceInfo& device) {
  v1::WorkerHello hello;
  hello.set_name(options.name);
  hello.set_evaluator(options.evaluator);
  hello.set_pool(options.pool);
  hello.set_device(device.device);
  hello.set_gpu_model(options.gpu_model.value_or(device.gpu_model));
  hello.set_memory_bytes(options.memory.value_or(device.memory_bytes));
  hello.set_compute_capability(device.compute_capability);
  hello.set_gpu_uuid(device.gpu_uuid);
  hello.set_version(PACELINE_VERSION);
  hello.set_tells_log(true);
  hello.set_connections(
      ConnectionsTowards(options.coordinator, options.connections));
  if (!options.program.empty()) hello.add_programs(options.program);
  for (const std::string& label : options.labels) {
    const std::vector<std::string> parts =
        absl::StrSplit(label, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label ", label, ": want KEY=VALUE"));
    }
    if (!hello.mutable_labels()->insert({parts[0], parts[1]}).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label ", label, ": ", parts[0], " is given twice"));
    }
  }
  return hello;
}

// The last lines of this process, and of the program that it has started. They
// are kept as long as anything may be logged.
struct LogRings {
  LogRing process;
  LogRing program;
};
LogRings& KeptLogs() {
  static auto& rings = *new LogRings;
  return rings;
}

v1::LogTold TellKeptLogs(const v1::TellLog& question) {
  const LogRings& kept = KeptLogs();
  return TellLog(question, {{v1::LogLine::PROCESS, &kept.process},
                            {v1::LogLine::PROGRAM, &kept.program}});
}

// Where a file is named after the worker, each has its own: "w0.2.log" beside
// "w0.log".
std::string ProgramLogOf(const Options& options, int index) {
  const std::filesystem::path log = options.program_log;
  const std::string file = log.filename();
  if (index == 0 || !absl::StartsWith(file, options.name)) return log;
  return log.parent_path() / absl::StrCat(NameInFlight(options.name, index),
                                          file.substr(options.name.size()));
}

// Of the iteration `index` in flight. Null unless it is to be an agent.
absl::StatusOr<std::unique_ptr<ProgramAgent>> AgentOf(const Options& options,
                                                      int index) {
  if (options.program.empty()) return nullptr;
  ProgramAgent::Options agent;
  agent.name = options.program;
  agent.worker = NameInFlight(options.name, index);
  agent.evaluator = options.evaluator;
  agent.socket = options.program_socket;
  agent.command = {.text = options.exec,
                   .log = ProgramLogOf(options, index),
                   .lines = &KeptLogs().program};
  return ProgramAgent::Create(std::move(agent));
}

absl::StatusOr<std::vector<std::unique_ptr<ProgramAgent>>> AgentsOf(
    const Options& options) {
  std::vector<std::unique_ptr<ProgramAgent>> agents;
  for (int i = 0; i < options.in_flight; ++i) {
    PACELINE_ASSIGN_OR_RETURN(auto agent, AgentOf(options, i));
    agents.push_back(std::move(agent));
  }
  return agents;
}

std::vector<ComputationSource*> SourcesOf(
    const std::vector<std::unique_ptr<ProgramAgent>>& agents) {
  std::vector<ComputationSource*> sources;
  sources.reserve(agents.size());
  for (const auto& agent : agents) sources.push_back(agent.get());
  return sources;
}

absl::Status CheckInFlight(const Options& options) {
  if (options.in_flight == 1) return absl::OkStatus();
  if (options.evaluator) {
    return absl::InvalidArgumentError(
        "--in-flight: an evaluator has one evaluation at a time: leave it out");
  }
  if (options.program.empty()) return absl::OkStatus();
  if (options.exec.empty()) {
    return absl::InvalidArgumentError(
        "--in-flight: a program that is started by somebody else is one "
        "alone: give --exec, by which each iteration gets its own");
  }
  if (!options.program_socket.empty()) {
    return absl::InvalidArgumentError(
        "--in-flight: each iteration has a program, and each program a socket "
        "of its own: leave --program-socket out");
  }
  return absl::OkStatus();
}

// Without --data-root it is the folder that the worker was started in, unless
// that is the root of the file system, as of a service: nobody has meant that.
DataPlaces PlacesOf(const Options& options) {
  DataPlaces places;
  places.anywhere = options.data_anywhere;
  std::error_code error;
  const bool in_root = std::filesystem::current_path(error) == "/";
  places.root = options.data_root.value_or(in_root ? "" : ".");
  return places;
}

// Ends the process within the grace period, from the first signal on: the
// iteration has half of it to finish, then the worker has the other half to
// drop it and to say so.
class Departure {
 public:
  Departure(WorkersInTurn* worker, absl::Duration grace)
      : worker_(*worker), grace_(grace) {}
  ~Departure() {
    ended_.Notify();
    if (deadlines_.joinable()) deadlines_.join();
  }

  // From one thread.
  void Signalled() {
    if (deadlines_.joinable()) return worker_.Drop();
    worker_.Leave();
    deadlines_ = std::thread([this] { KeepDeadlines(); });
  }

 private:
  void KeepDeadlines() {
    if (ended_.WaitForNotificationWithTimeout(grace_ / 2)) return;
    worker_.Drop();
    if (ended_.WaitForNotificationWithTimeout(grace_ / 2)) return;
    // Loading, say, cannot be interrupted. What the process still holds ends
    // with its streams, as when a machine dies.
    LogWarning("not done within the grace period: going without a word");
    _exit(0);
  }

  WorkersInTurn& worker_;
  const absl::Duration grace_;
  absl::Notification ended_;
  std::thread deadlines_;
};

// Lowers every thread's priority: those of OpenBLAS are there before main().
void LowerPriority() {
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/self/task", error)) {
    id_t id = 0;
    if (absl::SimpleAtoi(thread.path().filename().string(), &id)) {
      setpriority(PRIO_PROCESS, id, 19);
    }
  }
}

struct Times {
  absl::Duration grace;
  absl::Duration patience;
  absl::Duration orphan;
};

absl::StatusOr<Times> TimesOf(const Options& options) {
  Times times;
  PACELINE_ASSIGN_OR_RETURN(times.grace,
                            ParseDuration("--grace", options.grace));
  PACELINE_ASSIGN_OR_RETURN(times.patience,
                            ParseDuration("--patience", options.patience));
  PACELINE_ASSIGN_OR_RETURN(times.orphan,
                            ParseDuration("--orphan", options.orphan));
  return times;
}

absl::Status Run(const Options& options, const SecurityFlags& flags,
                 const sigset_t& stopping) {
  PACELINE_RETURN_IF_ERROR(CheckPlainName("--name", options.name));
  PACELINE_RETURN_IF_ERROR(CheckPlainName("--pool", options.pool));
  PACELINE_RETURN_IF_ERROR(CheckInFlight(options));
  PACELINE_ASSIGN_OR_RETURN(
      const PaceSpec pace,
      ParsePace({options.slowdown, options.step_time, options.delay,
                 options.pause, options.micro_batch_cost}));
  PACELINE_ASSIGN_OR_RETURN(const Times times, TimesOf(options));
  PACELINE_ASSIGN_OR_RETURN(const DeviceInfo device, DeviceOf(options));
  PACELINE_ASSIGN_OR_RETURN(const v1::WorkerHello hello,
                            HelloOf(options, device));
  PACELINE_ASSIGN_OR_RETURN(const ClientSecurity security, flags.Client());
  for (const auto& address : SplitCoordinatorAddresses(options.coordinator)) {
    PACELINE_RETURN_IF_ERROR(CheckDialAddress(address, security));
  }
  // --tls-server-name is the coordinator's; a parameter server's certificate
  // names the address that it registered.
  ClientSecurity to_servers = security;
  to_servers.server_name.clear();
  const Dial dial = [security, to_servers](const std::string& address,
                                           ChannelProfile profile,
                                           absl::Duration liveness) {
    return MakeChannel(
        address, profile, liveness,
        profile == ChannelProfile::kBulk ? to_servers : security);
  };
  if (options.low_priority) LowerPriority();
  PACELINE_ASSIGN_OR_RETURN(const auto agents, AgentsOf(options));
  auto registry = std::make_shared<prometheus::Registry>();
  ExportBuild(*registry, PACELINE_VERSION);
  WorkerMetrics metrics(*registry);
  const auto readiness = std::make_shared<Readiness>();
  PACELINE_ASSIGN_OR_RETURN(
      const auto monitoring,
      Monitoring::Serve(
          options.metrics,
          {registry, std::make_shared<CertificateMetrics>(security.tls)},
          readiness));
  LogInfo("started",
          {{"metrics_port", monitoring->port()}, {"orphan", options.orphan}});
  WorkersInTurn worker(
      {options.coordinator, hello, pace,
       TaskHost{device.device, device.devices,
                BackendOptions{.threads = options.threads,
                               .memory_fraction = options.gpu_memory_fraction /
                                                  options.in_flight},
                PlacesOf(options)},
       /*source=*/nullptr, /*turns=*/nullptr, times.patience, times.orphan,
       dial, [&](const absl::Status& status) { readiness->Set(status); },
       &TellKeptLogs},
      SourcesOf(agents), &metrics);
  Departure departure(&worker, times.grace);
  const SignalWatch signals(stopping, [&](int) { departure.Signalled(); });
  return worker.Run();
}

void AddPlaceOptions(CLI::App& app, Options& options) {
  app.add_option("--coordinator", options.coordinator,
                 "host:port; where there are two, both: host:port,host:port")
      ->required();
  app.add_option("--name", options.name,
                 "The member's name, w0; of two with one name the later stays")
      ->required();
  app.add_option("--pool", options.pool, "The pool that it belongs to")
      ->capture_default_str();
  app.add_option("--label", options.labels,
                 "KEY=VALUE, shown in the list of workers; may be repeated");
  app.add_flag("--evaluator", options.evaluator,
               "Takes evaluation tasks instead of grants");
  app.add_option("--data-root", options.data_root,
                 "Where jobs' data lie on this machine: the DIR of a job is a "
                 "path below it, without \"..\"; without the flag the folder "
                 "that the worker is started in, unless that is /")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--data-anywhere", options.data_anywhere,
               "Jobs may read any folder of this machine, absolute paths too: "
               "for a worker that serves its owner's jobs alone");
  app.add_option(
         "--metrics", options.metrics,
         "host:port of /metrics, /healthz and /readyz; port 0: any free "
         "one")
      ->capture_default_str();
  app.add_option("--patience", options.patience,
                 "Gives up after trying so long to reach a coordinator; 0: "
                 "never")
      ->capture_default_str();
  app.add_option("--orphan", options.orphan,
                 "Without a coordinator it keeps its part in a job for so "
                 "long; with --patience, no longer than that")
      ->capture_default_str();
  app.add_option("--grace", options.grace,
                 "How long it may take to leave after SIGTERM")
      ->capture_default_str();
  app.add_flag("--low-priority", options.low_priority,
               "Lets other processes go first");
  AddConnections(app, options.connections, "server");
}

void AddDeviceOptions(CLI::App& app, Options& options) {
  app.add_option("--device", options.device,
                 "What it computes on: cpu, cuda or cuda:N for a GPU that must "
                 "be there, auto for the first GPU, else the CPU; "
                 "cuda:0,cuda:1 or cpu,cpu: on several that divide each "
                 "micro-batch")
      ->capture_default_str();
  app.add_option(
         "--gpu-memory-fraction", options.gpu_memory_fraction,
         "Of the GPU's memory that it may take at most, above 0 and up "
         "to 1: workers may share a GPU. Iterations in flight get equal "
         "parts of it")
      ->check(IsShare())
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight,
                 "Iterations in hand at once, 1 to 4: while one is computed, "
                 "gradients and weights of the others are under way. Each is a "
                 "member of its own: w0, w0.2, ...")
      ->check(CLI::Range(1, kMostInFlight))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads of the matrix products")
      ->capture_default_str();
}

// For models that are not built in.
void AddProgramOptions(CLI::App& app, Options& options) {
  constexpr char kGroup[] = "Own models";
  CLI::Option* const program =
      app.add_option("--program", options.program,
                     "Takes part in jobs with the model program:NAME alone, as "
                     "the agent of a program that computes them")
          ->type_name("NAME")
          ->group(kGroup);
  app.add_option("--program-socket", options.program_socket,
                 "Where the program connects; it is told by PACELINE_PROGRAM "
                 "[/run/paceline/program.sock; with --exec a private place]")
      ->type_name("PATH")
      ->needs(program)
      ->group(kGroup);
  CLI::Option* const exec =
      app.add_option("--exec", options.exec,
                     "Starts the program for each job, by /bin/sh -c, and ends "
                     "it afterwards; without this it is started by somebody "
                     "else")
          ->type_name("COMMAND")
          ->needs(program)
          ->group(kGroup);
  app.add_option("--program-log", options.program_log,
                 "Gets what the program prints, behind what is there; without "
                 "this it is printed as the agent's own")
      ->type_name("FILE")
      ->needs(exec)
      ->group(kGroup);
}

// For trials of a cluster of unequal devices on one machine.
void AddImitationOptions(CLI::App& app, Options& options) {
  constexpr char kGroup[] = "Imitation, for trials";
  app.add_option("--gpu-model", options.gpu_model,
                 "Announces this GPU model instead of the device's own")
      ->group(kGroup);
  app.add_option("--memory", options.memory,
                 "Announces so many bytes of memory (16GiB) instead of the "
                 "device's own")
      ->transform(AsBytes())
      ->group(kGroup);
  app.add_option("--slowdown", options.slowdown,
                 "Imitates a device so many times slower")
      ->group(kGroup);
  app.add_option("--step-time", options.step_time,
                 "Imitates a device that needs this long for a full batch")
      ->group(kGroup);
  app.add_option("--delay", options.delay,
                 "Adds a random time to every iteration: "
                 "normal:mean=5ms,sd=2ms, exponential:mean=10ms, ...")
      ->group(kGroup);
  app.add_option("--pause", options.pause,
                 "Stands still now and then: every=10s,for=2s")
      ->group(kGroup);
  app.add_option("--micro-batch-cost", options.micro_batch_cost,
                 "What a micro-batch after an iteration's first takes besides "
                 "its samples' time: a share of the step time, 0.02")
      ->group(kGroup);
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  paceline::Options options;
  CLI::App app{"Computes gradients of paceline jobs.", "paceline-worker"};
  app.set_version_flag("--version", "paceline-worker " PACELINE_VERSION,
                       "Print the version of this program");
  paceline::AddPlaceOptions(app, options);
  paceline::AddDeviceOptions(app, options);
  paceline::AddProgramOptions(app, options);
  paceline::AddImitationOptions(app, options);
  const paceline::SecurityFlags security(
      app, paceline::SecurityFlags::Sides::kClient);
  CLI11_PARSE(app, argc, argv);

  const sigset_t stopping = paceline::KeepSignals({SIGTERM, SIGINT});
  paceline::KeepLogLines(&paceline::KeptLogs().process);
  paceline::StartLogging("worker " + options.name);
  paceline::LogWhatGrpcLogs();
  const absl::Status status = paceline::Run(options, security, stopping);
  if (status.ok()) return 0;
  paceline::LogError(paceline::Summary(status));
  return 1;
}
