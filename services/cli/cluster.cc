#include "services/cli/cluster.h"

#include <stdlib.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/bounded_json.h"
#include "common/status.h"
#include "services/cli/json_fields.h"
#include "services/cli/program_environment.h"
#include "services/cli/program_output.h"
#include "services/cli/run_files.h"

namespace paceline {
namespace {

// Everything listens on loopback, at a port that the system chooses.
constexpr char kAnyPort[] = "127.0.0.1:0";

std::string Program(absl::string_view bin_dir, absl::string_view name) {
  return absl::StrCat(bin_dir, "/", name);
}

void AppendUnlessEmpty(CommandLine& command, absl::string_view flag,
                       const std::string& value) {
  if (value.empty()) return;
  command.emplace_back(flag);
  command.push_back(value);
}

// What a worker and the evaluator have in common. An agent of a program leaves
// devices and threads to that.
CommandLine MemberCommand(absl::string_view bin_dir, absl::string_view folder,
                          absl::string_view coordinator,
                          const LocalOptions& options, const std::string& name,
                          const std::string& device, int threads) {
  const bool agent = options.program.has_value();
  CommandLine command = {Program(bin_dir, kWorkerProgram),
                         "--coordinator",
                         std::string(coordinator),
                         "--name",
                         name,
                         "--metrics",
                         kAnyPort,
                         "--device",
                         agent ? "cpu" : device,
                         "--threads",
                         absl::StrCat(agent ? 1 : threads)};
  if (!agent) {
    command.emplace_back("--data-anywhere");
    return command;
  }
  command.insert(command.end(), {"--program", options.program->name, "--exec",
                                 options.program->command, "--program-log",
                                 ProgramLog(folder, name)});
  return command;
}

}  // namespace

CommandLine CoordinatorCommand(absl::string_view bin_dir,
                               absl::string_view folder,
                               const LocalOptions& options) {
  CommandLine command = {Program(bin_dir, kCoordinatorProgram),
                         "--store",
                         absl::StrCat(folder, "/jobs.db"),
                         "--checkpoints",
                         absl::StrCat(folder, "/checkpoints"),
                         "--lease",
                         absl::FormatDuration(options.job.lease),
                         "--grace",
                         "1s",
                         "--listen",
                         absl::StrCat("127.0.0.1:", options.port),
                         "--metrics",
                         kAnyPort};
  if (!options.record.empty()) {
    AppendUnlessEmpty(command, "--record", absl::StrCat(folder, "/record"));
  }
  return command;
}

CommandLine ServerCommand(absl::string_view bin_dir,
                          absl::string_view coordinator, int index) {
  return {Program(bin_dir, kServerProgram),
          "--coordinator",
          std::string(coordinator),
          "--name",
          absl::StrCat("s", index),
          "--listen",
          kAnyPort,
          "--metrics",
          kAnyPort};
}

CommandLine WorkerCommand(absl::string_view bin_dir, absl::string_view folder,
                          absl::string_view coordinator,
                          const LocalOptions& options, int index) {
  CommandLine command = MemberCommand(
      bin_dir, folder, coordinator, options, absl::StrCat("w", index),
      options.devices.at(static_cast<size_t>(index)), options.threads);
  const WorkerPace& pace = options.workers.at(static_cast<size_t>(index));
  AppendUnlessEmpty(command, "--slowdown", pace.slowdown);
  AppendUnlessEmpty(command, "--step-time", pace.step_time);
  AppendUnlessEmpty(command, "--delay", pace.delay);
  AppendUnlessEmpty(command, "--pause", pace.pause);
  AppendUnlessEmpty(command, "--micro-batch-cost", pace.micro_batch_cost);
  if (options.in_flight > 1) {
    AppendUnlessEmpty(command, "--in-flight", absl::StrCat(options.in_flight));
  }
  return command;
}

CommandLine EvaluatorCommand(absl::string_view bin_dir,
                             absl::string_view folder,
                             absl::string_view coordinator,
                             const LocalOptions& options) {
  CommandLine command =
      MemberCommand(bin_dir, folder, coordinator, options, "eval",
                    options.devices.front(), /*threads=*/1);
  command.emplace_back("--evaluator");
  if (options.job.spec.stop().at_target())
    command.emplace_back("--low-priority");
  return command;
}

Environment EnvironmentOf(const LocalOptions& options,
                          absl::string_view bin_dir,
                          const std::string& device) {
  if (!options.program.has_value()) return {};
  ProgramPlace place;
  if (options.threads_given) place.threads = options.threads;
  place.device = device;
  place.python_folder = PythonFolderOf(bin_dir);
  return ProgramEnvironment(place, &getenv);
}

std::optional<std::string> ListeningAddress(absl::string_view line) {
  const Json object = ParseBoundedJson<Json>(line);
  if (TextField(object, "event") != "listening") return std::nullopt;
  std::string address = TextField(object, "address");
  if (address.empty()) return std::nullopt;
  return address;
}

absl::Status Cluster::CheckPrograms(const std::string& bin_dir) {
  for (absl::string_view program :
       {kCoordinatorProgram, kServerProgram, kWorkerProgram}) {
    const std::string path = absl::StrCat(bin_dir, "/", program);
    if (access(path.c_str(), X_OK) != 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          path,
          " is missing or cannot be executed: build or install it beside "
          "paceline"));
    }
  }
  return absl::OkStatus();
}

absl::Status Cluster::StartCoordinator() {
  return Start(Role::kCoordinator, "coordinator",
               CoordinatorCommand(bin_dir_, folder_, options_));
}

absl::Status Cluster::StartMembers(absl::string_view address) {
  const int servers = static_cast<int>(options_.job.spec.servers());
  for (int i = 0; i < servers; ++i) {
    PACELINE_RETURN_IF_ERROR(Start(Role::kServer, absl::StrCat("s", i),
                                   ServerCommand(bin_dir_, address, i)));
  }
  const int workers = static_cast<int>(options_.workers.size());
  for (int i = 0; i < workers; ++i) {
    PACELINE_RETURN_IF_ERROR(
        Start(Role::kWorker, absl::StrCat("w", i),
              WorkerCommand(bin_dir_, folder_, address, options_, i),
              EnvironmentOf(options_, bin_dir_,
                            options_.devices.at(static_cast<size_t>(i)))));
  }
  if (!options_.job.spec.evaluation().disabled()) {
    PACELINE_RETURN_IF_ERROR(
        Start(Role::kEvaluator, "eval",
              EvaluatorCommand(bin_dir_, folder_, address, options_),
              EnvironmentOf(options_, bin_dir_, options_.devices.front())));
  }
  return WriteProcesses();
}

absl::Status Cluster::Start(Role role, std::string name, CommandLine command,
                            Environment environment) {
  PACELINE_ASSIGN_OR_RETURN(
      ChildProcess process,
      ChildProcess::Start({.name = name,
                           .argv = std::move(command),
                           .log_path = absl::StrCat(folder_, "/", name, ".log"),
                           .capture_stdout = role == Role::kCoordinator,
                           .environment = std::move(environment)}));
  members_.push_back({role, std::move(process)});
  return absl::OkStatus();
}

absl::Status Cluster::WriteProcesses() const {
  Json pids = Json::object();
  for (const Member& member : members_) {
    pids[member.process.name()] = member.process.pid();
  }
  return WriteWholeFile(absl::StrCat(folder_, "/processes.json"),
                        absl::StrCat(pids.dump(2), "\n"));
}

std::vector<Cluster::Ended> Cluster::Poll() {
  std::vector<Ended> ended;
  for (Member& member : members_) {
    if (const auto cause = member.process.Poll(); cause.has_value()) {
      ended.push_back({member.role, member.process.name(),
                       member.process.log_path(), *cause});
    }
  }
  return ended;
}

std::vector<std::string> Cluster::Running() const {
  std::vector<std::string> names;
  for (const Member& member : members_) {
    if (member.process.running()) names.push_back(member.process.name());
  }
  return names;
}

void Cluster::Signal(int signal) const {
  for (const Member& member : members_) member.process.Signal(signal);
}

}  // namespace paceline
