#include "services/worker/program/program_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/status.h"
#include "common/unique_fd.h"
#include "common/utf8.h"

namespace paceline {
namespace {

// Between two looks whether a process has ended: there is no descriptor of it
// that every kernel has.
constexpr absl::Duration kLook = absl::Milliseconds(5);

// A shell's exit status of a process that a signal has killed.
constexpr int kSignalBase = 128;

}  // namespace

void LastLines::Add(absl::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const absl::string_view part = text.substr(0, end);
    if (line_.size() < kLineBytesMax) {
      line_.append(part.data(),
                   std::min(part.size(), kLineBytesMax - line_.size()));
    }
    if (end == absl::string_view::npos) return;
    EndLine();
    text.remove_prefix(end + 1);
  }
}

void LastLines::EndLine() {
  if (line_.find_first_not_of(" \t\r") != std::string::npos) {
    lines_.push_back(std::exchange(line_, ""));
    if (lines_.size() > kLinesMax) lines_.pop_front();
  }
  line_.clear();
}

std::string LastLines::Text() const {
  LastLines whole = *this;
  whole.EndLine();
  return absl::StrJoin(whole.lines_, " | ");
}

int SignalOf(const ExitCause& cause) {
  if (cause.signal != 0) return cause.signal;
  const int signal = cause.exit_code - kSignalBase;
  return signal > 0 && signal <= SIGRTMAX ? signal : 0;
}

std::string ExitText(const ExitCause& cause) {
  const int signal = SignalOf(cause);
  if (signal == 0) return absl::StrCat(cause.exit_code);
  return absl::StrCat(
      kSignalBase + signal, " (",
      signal == SIGKILL ? "killed: out of memory?" : strsignal(signal), ")");
}

absl::StatusOr<std::unique_ptr<ProgramProcess>> ProgramProcess::Start(
    const ProgramCommand& command, const std::string& socket) {
  std::map<std::string, std::string> environment = command.environment;
  environment["PACELINE_PROGRAM"] = socket;
  PACELINE_ASSIGN_OR_RETURN(
      ChildProcess child,
      ChildProcess::Start({.name = "program",
                           .argv = {"/bin/sh", "-c", command.text},
                           .log_path = command.log,
                           .keep_log = true,
                           .capture_stderr = true,
                           .environment = std::move(environment)}));
  UniqueFd log;
  if (!command.log.empty()) {
    log = UniqueFd(open(command.log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!log.valid()) {
      return absl::ErrnoToStatus(errno,
                                 absl::StrCat("cannot open ", command.log));
    }
  }
  return absl::WrapUnique(
      new ProgramProcess(std::move(child), std::move(log), command.lines));
}

ProgramProcess::ProgramProcess(ChildProcess child, UniqueFd log, LogRing* lines)
    : child_(std::move(child)),
      log_(std::move(log)),
      lines_(lines),
      reader_([this] { ReadComplaints(); }) {}

ProgramProcess::~ProgramProcess() {
  if (!Ended()) child_.Signal(SIGKILL);
  // Who has left the group may hold the pipe for ever.
  StopReading();
}

void ProgramProcess::StopReading() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  stop_.Wake();
  if (reader_.joinable()) reader_.join();
}

void ProgramProcess::ReadComplaints() {
  const auto stopping = [this] {
    absl::MutexLock lock(&mu_);
    return stopping_;
  };
  std::array<char, 4096> text;
  // What has no line feed at the end is a line as well.
  const absl::Cleanup end = [this] { lines_.End(absl::Now()); };
  // Who has left the group may write without end: then no more than a pipe has.
  size_t left = 64 << 10;
  bool last = false;
  while (true) {
    const ssize_t n = read(child_.stderr_fd(), text.data(), text.size());
    if (n > 0) {
      const absl::string_view part(text.data(), static_cast<size_t>(n));
      WriteAll(log_.valid() ? log_.get() : STDERR_FILENO, part);
      lines_.Add(part, absl::Now());
      absl::MutexLock lock(&mu_);
      complaints_.Add(part);
      if (stopping_) left -= std::min(left, part.size());
      if (left == 0) return;
      continue;
    }
    if (n == 0 || last) return;
    // What it has written before it ended is there, and read once more.
    last = !stop_.Await(child_.stderr_fd(), POLLIN, {.stopped = stopping}).ok();
  }
}

bool ProgramProcess::Ended() {
  if (cause_.has_value()) return true;
  cause_ = child_.Poll();
  return cause_.has_value();
}

bool ProgramProcess::AwaitEnd(absl::Duration patience) {
  const Clock& clock = Clock::Real();
  const absl::Time deadline = clock.Now() + patience;
  while (!Ended() && clock.Now() < deadline) {
    stop_.Await(-1, 0, {.deadline = clock.Now() + kLook}).IgnoreError();
  }
  return Ended();
}

bool ProgramProcess::killed() const {
  return cause_.has_value() && SignalOf(*cause_) != 0;
}

std::string ProgramProcess::Describe() {
  if (!Ended()) return "runs";
  // Its group is dead: what it has written is there.
  StopReading();
  absl::MutexLock lock(&mu_);
  const std::string lines = complaints_.Text();
  return absl::StrCat(
      "exited with ",
      killed_here_ ? "137 (killed by its agent)" : ExitText(*cause_),
      lines.empty() ? "" : "; last lines: ", CutUtf8(lines, 1500));
}

bool ProgramProcess::End(absl::Time deadline, absl::Duration grace,
                         const std::function<bool()>& hurried) {
  const auto ends_until = [&](absl::Time until) {
    while (!Ended() && !hurried() && Clock::Real().Now() < until) {
      AwaitEnd(absl::Milliseconds(50));
    }
    return Ended();
  };
  if (ends_until(deadline)) return true;
  child_.Signal(SIGTERM);
  child_.Signal(SIGCONT);
  if (ends_until(Clock::Real().Now() + grace)) return false;
  child_.Signal(SIGKILL);
  killed_here_ = true;
  AwaitEnd(absl::Seconds(10));
  return false;
}

}  // namespace paceline
