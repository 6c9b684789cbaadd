#ifndef PACELINE_SERVICES_WORKER_PROGRAM_WAKE_UP_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_WAKE_UP_H_

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/unique_fd.h"

namespace paceline {

// What ends a wait for a program before the program does anything.
struct ProgramPatience {
  // DEADLINE_EXCEEDED then.
  absl::Time deadline = absl::InfiniteFuture();
  // CANCELLED once it says so; asked ten times a second, and when woken.
  std::function<bool()> stopped = [] { return false; };
};

// Lets one thread wait for a descriptor or for another thread. Wake() is safe
// from any thread, the rest belongs to the one that waits.
class WakeUp {
 public:
  bool valid() const { return event_.valid(); }

  void Wake() const {
    const uint64_t one = 1;
    // A counter that is full wakes as well.
    [[maybe_unused]] const ssize_t n = write(event_.get(), &one, sizeof(one));
  }

  // Until `fd` (-1: none) has one of `events`, or an error: OK. Otherwise as
  // `patience` says.
  absl::Status Await(int fd, int16_t events,
                     const ProgramPatience& patience) const {
    constexpr absl::Duration kLook = absl::Milliseconds(100);
    while (true) {
      if (patience.stopped()) return absl::CancelledError("told to stop");
      const absl::Duration left = patience.deadline - Clock::Real().Now();
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError("nothing came in time");
      }
      pollfd waited[] = {{event_.get(), POLLIN, 0}, {fd, events, 0}};
      const auto turn = absl::ToInt64Milliseconds(std::min(left, kLook));
      if (poll(waited, 2, static_cast<int>(turn) + 1) <= 0) continue;
      if (waited[0].revents != 0) {
        uint64_t count = 0;
        [[maybe_unused]] const ssize_t n =
            read(event_.get(), &count, sizeof(count));
      }
      if (waited[1].revents != 0) return absl::OkStatus();
    }
  }

 private:
  const UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_WAKE_UP_H_
