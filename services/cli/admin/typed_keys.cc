#include "services/cli/admin/typed_keys.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "absl/time/clock.h"

namespace paceline {
namespace {

// How soon an interruption is seen while nobody types.
constexpr absl::Duration kLook = absl::Milliseconds(50);

bool InForeground(int fd) { return tcgetpgrp(fd) == getpgrp(); }

}  // namespace

std::unique_ptr<TypedKeys> TypedKeys::Open(int fd) {
  termios before;
  if (!InForeground(fd) || tcgetattr(fd, &before) != 0) return nullptr;
  std::unique_ptr<TypedKeys> keys(new TypedKeys(fd, before));
  keys->TakeKeys();
  return keys;
}

TypedKeys::~TypedKeys() {
  // In the background the terminal is somebody else's, and touching it would
  // stop this process.
  if (InForeground(fd_)) tcsetattr(fd_, TCSANOW, &before_);
}

void TypedKeys::TakeKeys() const {
  if (!InForeground(fd_)) return;
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  keys.c_cc[VQUIT] = _POSIX_VDISABLE;
  tcsetattr(fd_, TCSANOW, &keys);
}

std::optional<char> TypedKeys::Next(absl::Time until,
                                    const Interruption& interruption) {
  TakeKeys();
  for (;;) {
    if (interruption.signal() != 0) return std::nullopt;
    const absl::Duration left = until - absl::Now();
    if (left <= absl::ZeroDuration()) return std::nullopt;
    pollfd key = {.fd = at_end_ ? -1 : fd_, .events = POLLIN, .revents = 0};
    const int64_t millis = absl::ToInt64Milliseconds(std::min(left, kLook)) + 1;
    if (poll(&key, 1, static_cast<int>(millis)) <= 0) continue;
    char typed = 0;
    const ssize_t count = read(fd_, &typed, 1);
    if (count == 1) return typed;
    // Then nothing is left but to wait for the time.
    at_end_ = count == 0 || (errno != EINTR && errno != EAGAIN);
  }
}

}  // namespace paceline
