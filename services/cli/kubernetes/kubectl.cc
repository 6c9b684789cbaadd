#include "services/cli/kubernetes/kubectl.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/process/child_process.h"
#include "common/status.h"

namespace paceline {
namespace {

using nlohmann::json;

// A login in a browser may be a part of it.
constexpr absl::Duration kMost = absl::Minutes(2);
constexpr absl::Duration kLook = absl::Milliseconds(20);
constexpr char kRequestTimeout[] = "--request-timeout=20s";

struct Printed {
  std::string out;
  std::string err;
  ExitCause cause;
};

// Whether more may come.
bool ReadSome(int fd, std::string& text) {
  std::array<char, 4096> buffer;
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

absl::StatusOr<Printed> RunToItsEnd(const std::vector<std::string>& command) {
  PACELINE_ASSIGN_OR_RETURN(ChildProcess child,
                            ChildProcess::Start({.name = "kubectl",
                                                 .argv = command,
                                                 .log_path = "",
                                                 .capture_stdout = true,
                                                 .capture_stderr = true}));
  Printed printed;
  const absl::Time deadline = Clock::Real().Now() + kMost;
  bool out = true;
  bool err = true;
  std::optional<ExitCause> cause;
  while (out || err || !cause.has_value()) {
    if (Clock::Real().Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "kubectl did not end within ", absl::FormatDuration(kMost)));
    }
    std::array<pollfd, 2> ends = {{{out ? child.stdout_fd() : -1, POLLIN, 0},
                                   {err ? child.stderr_fd() : -1, POLLIN, 0}}};
    poll(ends.data(), ends.size(),
         static_cast<int>(absl::ToInt64Milliseconds(kLook)));
    if (ends[0].revents != 0) out = ReadSome(child.stdout_fd(), printed.out);
    if (ends[1].revents != 0) err = ReadSome(child.stderr_fd(), printed.err);
    if (!cause.has_value()) cause = child.Poll();
  }
  printed.cause = *cause;
  return printed;
}

absl::Status ErrorOf(const Printed& printed) {
  absl::string_view said = absl::StripAsciiWhitespace(printed.err);
  said.remove_prefix(std::min(said.size(), said.rfind('\n') + 1));
  const std::string why =
      absl::StrCat("kubectl: ", said.empty() ? printed.cause.Describe() : said);
  if (absl::StrContains(said, "(NotFound)")) return absl::NotFoundError(why);
  if (absl::StrContains(said, "(Forbidden)") ||
      absl::StrContains(said, "(Unauthorized)")) {
    return absl::PermissionDeniedError(why);
  }
  return absl::UnavailableError(why);
}

}  // namespace

absl::StatusOr<Kubectl> Kubectl::Find(absl::string_view path,
                                      std::vector<std::string> flags) {
  for (const absl::string_view folder : absl::StrSplit(path, ':')) {
    if (folder.empty()) continue;
    std::string program = absl::StrCat(folder, "/kubectl");
    if (access(program.c_str(), X_OK) != 0) continue;
    flags.insert(flags.begin(), std::move(program));
    return Kubectl(std::move(flags));
  }
  return absl::FailedPreconditionError(
      "there is no kubectl in PATH: install it and let it reach the cluster, "
      "or make the context with `paceline config set-context`");
}

absl::StatusOr<json> Kubectl::Get(const std::vector<std::string>& words) const {
  std::vector<std::string> command = command_;
  command.insert(command.end(), {kRequestTimeout, "get"});
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"-o", "json"});
  PACELINE_ASSIGN_OR_RETURN(const Printed printed, RunToItsEnd(command));
  if (!printed.cause.clean()) return ErrorOf(printed);
  json found = json::parse(printed.out, nullptr, /*allow_exceptions=*/false);
  if (!found.is_object()) {
    return absl::InternalError("kubectl printed something else than JSON");
  }
  return found;
}

}  // namespace paceline
