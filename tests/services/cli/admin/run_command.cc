#include "tests/services/cli/admin/run_command.h"

#include <algorithm>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "services/cli/admin/admin_commands.h"

namespace paceline {
namespace {

// So that the calls of one run cannot disturb the next: each has its own, and
// the test keeps the last.
std::shared_ptr<Waker> NewWaker() {
  absl::StatusOr<std::unique_ptr<Waker>> waker = Waker::WithoutSignals();
  CHECK(waker.ok());
  return *std::move(waker);
}

}  // namespace

CommandRunner::CommandRunner()
    : now(absl::FromUnixSeconds(1'800'000'000)), waker_(NewWaker()) {}

std::shared_ptr<Waker> CommandRunner::waker() const {
  absl::MutexLock lock(&mu_);
  return waker_;
}

void CommandRunner::Interrupt(int signal) {
  // It outlives the run, which may end before this does.
  waker()->Interrupt(signal);
}

CommandRunner::Outcome CommandRunner::Run(
    const std::string& line, const std::vector<std::string>& further) {
  Outcome outcome;
  Console console;
  int writes_left = writes_max;
  console.out = [&](absl::string_view text) {
    if (writes_left-- <= 0) return false;
    absl::StrAppend(&outcome.out, text);
    return true;
  };
  console.err = [&](absl::string_view text) {
    absl::StrAppend(&outcome.err, text);
  };
  console.progress = {
      .write = console.out, .terminal = terminal, .color = false};
  console.can_ask = answer.has_value();
  console.read_line = [this] { return answer; };
  console.read_input = [this] { return input; };
  console.environment = [this](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  console.now = [this] { return now; };
  console.make_waker = [this] { return waker(); };

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
  waker_ = NewWaker();
  return outcome;
}

}  // namespace paceline
