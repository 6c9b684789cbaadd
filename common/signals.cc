#include "common/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/check.h"

namespace paceline {
namespace {

sigset_t NotIgnored(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    struct sigaction action = {};
    CHECK(sigaction(signal, nullptr, &action) == 0);
    if (action.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

// Runs in a thread that does not have the mask: takes the signal from there,
// for good, and sends it to the process again, where it stays pending.
void SendOn(int signal, siginfo_t*, void* context) {
  const int error = errno;
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  kill(getpid(), signal);
  errno = error;
}

void Watch(const sigset_t& kept, int wake,
           const std::function<void(int)>& handler) {
  const int signals = signalfd(-1, &kept, SFD_CLOEXEC);
  CHECK(signals >= 0);
  pollfd ready[2] = {{signals, POLLIN, 0}, {wake, POLLIN, 0}};
  while (ready[1].revents == 0) {
    if (poll(ready, 2, /*timeout=*/-1) < 0) continue;
    signalfd_siginfo info;
    if (ready[0].revents != 0 &&
        read(signals, &info, sizeof(info)) == sizeof(info)) {
      handler(static_cast<int>(info.ssi_signo));
    }
  }
  close(signals);
}

}  // namespace

sigset_t KeepSignals(std::initializer_list<int> signals) {
  const sigset_t kept = NotIgnored(signals);
  CHECK(pthread_sigmask(SIG_BLOCK, &kept, nullptr) == 0);
  struct sigaction action = {};
  action.sa_sigaction = SendOn;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_mask = kept;
  for (const int signal : signals) {
    if (sigismember(&kept, signal) == 0) continue;
    CHECK(sigaction(signal, &action, nullptr) == 0);
  }
  return kept;
}

SignalWatch::SignalWatch(const sigset_t& kept, std::function<void(int)> handler)
    : wake_(eventfd(0, EFD_CLOEXEC)) {
  CHECK(wake_ >= 0);
  thread_ = std::thread([kept, wake = wake_, handler = std::move(handler)] {
    Watch(kept, wake, handler);
  });
}

SignalWatch::~SignalWatch() {
  const uint64_t one = 1;
  CHECK(write(wake_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(wake_);
}

}  // namespace paceline
