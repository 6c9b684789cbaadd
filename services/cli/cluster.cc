#include "services/cli/cluster.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/json_fields.h"
#include "services/cli/run_folder.h"

namespace paceline {

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
  for (int i = 0; i < options_.servers; ++i) {
    PACELINE_RETURN_IF_ERROR(Start(Role::kServer, absl::StrCat("s", i),
                                   ServerCommand(bin_dir_, address, i)));
  }
  const int workers = static_cast<int>(options_.workers.size());
  for (int i = 0; i < workers; ++i) {
    PACELINE_RETURN_IF_ERROR(
        Start(Role::kWorker, absl::StrCat("w", i),
              WorkerCommand(bin_dir_, address, options_, i)));
  }
  PACELINE_RETURN_IF_ERROR(Start(
      Role::kEvaluator, "eval", EvaluatorCommand(bin_dir_, address, options_)));
  return WriteProcesses();
}

absl::Status Cluster::Start(Role role, std::string name, CommandLine command) {
  PACELINE_ASSIGN_OR_RETURN(
      ChildProcess process,
      ChildProcess::Start({.name = name,
                           .argv = std::move(command),
                           .log_path = absl::StrCat(folder_, "/", name, ".log"),
                           .capture_stdout = role == Role::kCoordinator}));
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
