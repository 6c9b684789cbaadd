#include "services/cli/command_lines.h"

#include "absl/strings/str_cat.h"

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
                         absl::FormatDuration(options.lease),
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

CommandLine WorkerCommand(absl::string_view bin_dir,
                          absl::string_view coordinator,
                          const LocalOptions& options, int index) {
  CommandLine command = {Program(bin_dir, kWorkerProgram),
                         "--coordinator",
                         std::string(coordinator),
                         "--name",
                         absl::StrCat("w", index),
                         "--metrics",
                         kAnyPort,
                         "--device",
                         options.devices.at(static_cast<size_t>(index)),
                         "--threads",
                         absl::StrCat(options.threads)};
  const WorkerPace& pace = options.workers.at(static_cast<size_t>(index));
  AppendUnlessEmpty(command, "--slowdown", pace.slowdown);
  AppendUnlessEmpty(command, "--step-time", pace.step_time);
  AppendUnlessEmpty(command, "--delay", pace.delay);
  AppendUnlessEmpty(command, "--pause", pace.pause);
  return command;
}

CommandLine EvaluatorCommand(absl::string_view bin_dir,
                             absl::string_view coordinator,
                             const LocalOptions& options) {
  CommandLine command = {Program(bin_dir, kWorkerProgram),
                         "--coordinator",
                         std::string(coordinator),
                         "--name",
                         "eval",
                         "--metrics",
                         kAnyPort,
                         "--device",
                         options.devices.front(),
                         "--threads",
                         "1",
                         "--evaluator"};
  if (options.stop_at_target) command.emplace_back("--low-priority");
  return command;
}

}  // namespace paceline
