#include "tests/services/cli/admin/run_command.h"

#include <algorithm>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/cli/admin/admin_commands.h"

namespace paceline {
CommandRunner::CommandRunner()
    : now(absl::FromUnixSeconds(1'800'000'000)),
      interruption_(std::make_shared<Interruption>()) {}

std::shared_ptr<Interruption> CommandRunner::interruption() const {
  absl::MutexLock lock(&mu_);
  return interruption_;
}

void CommandRunner::Interrupt(int signal) {
  // It outlives the run, which may end before this does.
  interruption()->Interrupt(signal);
}

CommandRunner::Outcome CommandRunner::Run(
    const std::string& line, const std::vector<std::string>& further) {
  Outcome outcome;
  Console console;
  int writes_left = writes_max;
  console.out = [&](absl::string_view text) {
    if (writes_left-- <= 0) {
      errno = write_error;
      return false;
    }
    absl::StrAppend(&outcome.out, text);
    return true;
  };
  console.err = [&](absl::string_view text) {
    absl::StrAppend(&outcome.err, text);
  };
  console.progress = {
      .write = console.out, .terminal = terminal, .color = color};
  console.can_ask = answer.has_value();
  console.read_line = [this] { return answer; };
  console.open_keys = [] { return nullptr; };
  console.read_input = [this] { return input; };
  console.environment = [this](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  console.now = [this] { return now; };
  console.make_interruption = [this] { return interruption(); };

  CLI::App app("test", "paceline");
  app.require_subcommand(1);
  const std::unique_ptr<ChosenCommand> chosen =
      AddAdminCommands(app, std::move(console));
  if (add_more) add_more(app, *chosen);
  std::vector<std::string> arguments =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  arguments.insert(arguments.end(), further.begin(), further.end());
  // CLI11 takes them last first.
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    outcome.code = static_cast<int>(
        error.get_exit_code() == 0 ? ExitCode::kSuccess : ExitCode::kUsage);
    absl::StrAppend(&outcome.err, "paceline: ", error.what(), "\n");
    return outcome;
  }
  outcome.code = static_cast<int>(chosen->Run());
  absl::MutexLock lock(&mu_);
  // The calls of one run cannot disturb the next.
  interruption_ = std::make_shared<Interruption>();
  return outcome;
}

}  // namespace paceline
