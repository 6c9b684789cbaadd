#include "services/cli/admin/console.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/unique_fd.h"
#include "services/cli/progress_printer.h"

namespace paceline {
namespace {

// The most that is read of standard input: far above any job file.
constexpr size_t kInputBytesMax = size_t{4} << 20;

// While somebody is asked, a signal ends the program, as it does before the
// signals are watched: reading a terminal looks at nothing else.
class SignalsLetThrough {
 public:
  SignalsLetThrough() {
    sigset_t ending;
    sigemptyset(&ending);
    for (size_t i = 0; i < kEnding.size(); ++i) {
      sigaction(kEnding[i], nullptr, &actions_[i]);
      if (actions_[i].sa_handler != SIG_IGN) signal(kEnding[i], SIG_DFL);
      sigaddset(&ending, kEnding[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &ending, &mask_);
  }
  ~SignalsLetThrough() {
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    for (size_t i = 0; i < kEnding.size(); ++i) {
      sigaction(kEnding[i], &actions_[i], nullptr);
    }
  }
  SignalsLetThrough(const SignalsLetThrough&) = delete;
  SignalsLetThrough& operator=(const SignalsLetThrough&) = delete;

 private:
  static constexpr std::array<int, 3> kEnding = {SIGINT, SIGTERM, SIGHUP};

  sigset_t mask_;
  std::array<struct sigaction, 3> actions_;  // Before, of each.
};

std::optional<std::string> ReadLine() {
  const SignalsLetThrough let_through;
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

absl::StatusOr<std::string> ReadStream(std::istream& in, absl::string_view what,
                                       size_t bytes_max) {
  std::string text(bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", what));
  }
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " is larger than the ", bytes_max, " bytes that are read"));
  }
  return text;
}

}  // namespace

Console ProcessConsole() {
  Console console;
  console.out = [](absl::string_view text) {
    return WriteAll(STDOUT_FILENO, text);
  };
  console.err = [](absl::string_view text) { WriteAll(STDERR_FILENO, text); };
  console.progress =
      ProgressTo(STDOUT_FILENO, getenv("TERM"), getenv("NO_COLOR"));
  console.can_ask = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
  console.read_line = &ReadLine;
  console.open_keys = [] { return TypedKeys::Open(STDIN_FILENO); };
  console.read_input = [] {
    const SignalsLetThrough let_through;
    return ReadStream(std::cin, "standard input", kInputBytesMax);
  };
  console.environment = [](const char* name) {
    const char* value = getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  console.now = &absl::Now;
  console.make_interruption = &Interruption::BySignals;
  return console;
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t bytes_max) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is a folder, not a file"));
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return errno == EACCES ? absl::PermissionDeniedError(absl::StrCat(
                                 path, ": may not be read by this user"))
                           : absl::InvalidArgumentError(
                                 absl::StrCat(path, ": ", strerror(errno)));
  }
  return ReadStream(in, path, bytes_max);
}

}  // namespace paceline
