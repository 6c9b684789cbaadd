#include "services/cli/admin/waker.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<Waker>> Waker::WithSignals() {
  PACELINE_ASSIGN_OR_RETURN(InterruptWatch signals, InterruptWatch::Create());
  return Create(std::move(signals));
}

absl::StatusOr<std::unique_ptr<Waker>> Waker::WithoutSignals() {
  return Create(std::nullopt);
}

absl::StatusOr<std::unique_ptr<Waker>> Waker::Create(
    std::optional<InterruptWatch> signals) {
  UniqueFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) {
    return absl::InternalError(absl::StrCat("eventfd: ", strerror(errno)));
  }
  return std::unique_ptr<Waker>(
      new Waker(std::move(event), std::move(signals)));
}

void Waker::Wake() {
  const uint64_t one = 1;
  // It can only fail where the counter is full, and then it is readable.
  [[maybe_unused]] const ssize_t written =
      write(event_.get(), &one, sizeof(one));
}

void Waker::Interrupt(int signal) {
  interrupted_ = signal;
  Wake();
}

void Waker::Wait(absl::Time deadline) {
  if (signal() != 0) return;
  pollfd fds[2] = {{.fd = event_.get(), .events = POLLIN, .revents = 0},
                   {.fd = signals_.has_value() ? signals_->fd() : -1,
                    .events = POLLIN,
                    .revents = 0}};
  // Waking up once a minute for nothing costs nothing; rounded up, or the last
  // millisecond would be spun through.
  const absl::Duration left = std::clamp(
      deadline - absl::Now(), absl::ZeroDuration(), absl::Minutes(1));
  poll(fds, 2,
       static_cast<int>(
           absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)))));
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken =
      read(event_.get(), &count, sizeof(count));
}

int Waker::signal() {
  if (signals_.has_value()) {
    signals_->Read();
    if (signals_->first() != 0) return signals_->first();
  }
  return interrupted_;
}

}  // namespace paceline
