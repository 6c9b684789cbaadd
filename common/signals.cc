#include "common/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
