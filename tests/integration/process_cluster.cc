#include "tests/integration/process_cluster.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "services/cli/run_files.h"
#include "tests/common/security/eventually.h"
#include "tests/common/test_paths.h"

namespace paceline {

ProcessCluster::ProcessCluster(
    const std::vector<std::string>& coordinator_flags) {
  std::vector<std::string> flags = {"--listen",      "127.0.0.1:0",
                                    "--store",       StorePath(),
                                    "--checkpoints", CheckpointPath()};
  flags.insert(flags.end(), coordinator_flags.begin(), coordinator_flags.end());
  const ChildProcess& coordinator =
      StartProcess("paceline-coordinator", "coordinator", flags, true);
  LineReader reader(coordinator.stdout_fd());
  const bool listens = Eventually([&] {
    for (const std::string& line : reader.Read()) {
      address_ = nlohmann::json::parse(line).value("address", "");
    }
    return !address_.empty() || reader.at_end();
  });
  CHECK(listens && !address_.empty());
}

void ProcessCluster::Start(absl::string_view program, const std::string& name,
                           const std::vector<std::string>& flags) {
  std::vector<std::string> all = {"--coordinator", address_, "--name", name};
  all.insert(all.end(), flags.begin(), flags.end());
  StartProcess(program, name, all, false);
}

ChildProcess& ProcessCluster::StartProcess(
    absl::string_view program, const std::string& name,
    const std::vector<std::string>& flags, bool capture_stdout) {
  ChildSpec spec;
  spec.name = name;
  spec.argv = {ProgramPath(program)};
  spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
  spec.log_path = folder_.Path(name + ".log");
  spec.capture_stdout = capture_stdout;
  auto process = ChildProcess::Start(spec);
  CHECK(process.ok());
  processes_.push_back(*std::move(process));
  return processes_.back();
}

}  // namespace paceline
