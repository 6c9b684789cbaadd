#ifndef PACELINE_TESTS_COMMON_STAND_STILL_H_
#define PACELINE_TESTS_COMMON_STAND_STILL_H_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/time/time.h"
#include "common/check.h"

namespace paceline {

// Stops this whole process for so long, as somebody may who suspends its
// machine. All of its threads stand still.
inline void StandStill(absl::Duration time) {
  const timespec length = absl::ToTimespec(time);
  const pid_t self = getpid();
  const pid_t waker = fork();
  CHECK(waker >= 0);
  if (waker == 0) {
    kill(self, SIGSTOP);
    nanosleep(&length, nullptr);
    kill(self, SIGCONT);
    _exit(0);
  }
  CHECK(waitpid(waker, nullptr, 0) == waker);
}

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_STAND_STILL_H_
