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

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// Runs in a thread that a library has started before main (OpenBLAS does), so
// that it does not have the mask: takes the signal from there, for good, and
// sends it to the process again, where it stays pending for the watch.
void SendOn(int signal, siginfo_t*, void* context) {
  const int error = errno;
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  kill(getpid(), signal);
  errno = error;
}

void Watch(int wake, const std::function<void(int)>& handler) {
  const sigset_t set = Watched();
  const int signals = signalfd(-1, &set, SFD_CLOEXEC);
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

void SignalWatch::Block() {
  const sigset_t set = Watched();
  CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  struct sigaction action = {};
  action.sa_sigaction = SendOn;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_mask = set;
  for (const int signal : {SIGTERM, SIGINT}) {
    struct sigaction before = {};
    CHECK(sigaction(signal, nullptr, &before) == 0);
    // What a shell has told a background job to ignore stays ignored.
    if (before.sa_handler == SIG_IGN) continue;
    CHECK(sigaction(signal, &action, nullptr) == 0);
  }
}

SignalWatch::SignalWatch(std::function<void(int)> handler)
    : wake_(eventfd(0, EFD_CLOEXEC)) {
  CHECK(wake_ >= 0);
  thread_ = std::thread(
      [wake = wake_, handler = std::move(handler)] { Watch(wake, handler); });
}

SignalWatch::~SignalWatch() {
  const uint64_t one = 1;
  CHECK(write(wake_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(wake_);
}

}  // namespace paceline
