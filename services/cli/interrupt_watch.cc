#include "services/cli/interrupt_watch.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/signals.h"

namespace paceline {
namespace {

constexpr std::initializer_list<int> kWatched = {SIGINT, SIGTERM, SIGHUP,
                                                 SIGCHLD};

}  // namespace

absl::StatusOr<InterruptWatch> InterruptWatch::Create() {
  signal(SIGPIPE, SIG_IGN);
  // If our starter ignores SIGCHLD, so do we, and every exit code would be
  // lost.
  signal(SIGCHLD, SIG_DFL);
  sigset_t previous;
  if (pthread_sigmask(SIG_SETMASK, nullptr, &previous) != 0) {
    return absl::InternalError("read the mask of signals");
  }
  const sigset_t watched = KeepSignals(kWatched);
  InterruptWatch watch(
      UniqueFd(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK)), watched,
      previous);
  if (!watch.fd_.valid()) {
    return absl::InternalError(
        absl::StrCat("watch signals: ", strerror(errno)));
  }
  return watch;
}

InterruptWatch::InterruptWatch(InterruptWatch&& other) noexcept
    : fd_(std::move(other.fd_)),
      watched_(other.watched_),
      previous_(other.previous_),
      count_(other.count_),
      first_(other.first_) {}

InterruptWatch::~InterruptWatch() {
  if (!fd_.valid()) return;
  // One more Ctrl-C that came too late to matter must not kill us now.
  Read();
  for (const int signal : kWatched) {
    if (sigismember(&watched_, signal) == 1) ::signal(signal, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &previous_, nullptr);
}

void InterruptWatch::Read() {
  signalfd_siginfo info;
  while (read(fd_.get(), &info, sizeof(info)) ==
         static_cast<ssize_t>(sizeof(info))) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    ++count_;
    if (first_ == 0) first_ = signal;
  }
}

}  // namespace paceline
