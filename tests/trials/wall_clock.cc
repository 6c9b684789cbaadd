// A wall clock that a trial can set, for the processes that load this before
// the C library (LD_PRELOAD). The file PACELINE_WALL_CLOCK holds by how many
// nanoseconds it is ahead, eight bytes that the trial may change at any time.
//
// Waits of the kernel until a time of the wall clock are imitated: as with a
// clock that is really set, one that is under way ends earlier or later.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kSecond = 1'000'000'000;
// How often a wait looks whether somebody has set the clock.
constexpr int64_t kLook = 20'000'000;

// The C library's, whose name is taken here.
template <class... Arguments>
long Kernel(long number, Arguments... arguments) {
  static std::atomic<decltype(&::syscall)> next{nullptr};
  if (next == nullptr) {
    next = reinterpret_cast<decltype(&::syscall)>(dlsym(RTLD_NEXT, "syscall"));
  }
  return next.load()(number, arguments...);
}

const std::atomic<int64_t>* OpenOffset() {
  const char* const path = std::getenv("PACELINE_WALL_CLOCK");
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const place =
      mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return place == MAP_FAILED ? nullptr
                             : static_cast<const std::atomic<int64_t>*>(place);
}

int64_t Ahead() {
  static const std::atomic<int64_t>* const offset = OpenOffset();
  return offset == nullptr ? 0 : offset->load();
}

int64_t Nanos(const timespec& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

timespec ToTimespec(int64_t nanos) {
  return {static_cast<time_t>(nanos / kSecond),
          static_cast<long>(nanos % kSecond)};
}

int64_t Read(clockid_t clock) {
  timespec now = {};
  Kernel(SYS_clock_gettime, clock, &now);
  return Nanos(now);
}

bool IsWallClock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

long WaitUntilWallTime(long word, long operation, long value, int64_t until,
                       long bits) {
  while (true) {
    const int64_t left = until - (Read(CLOCK_REALTIME) + Ahead());
    if (left <= 0) {
      errno = ETIMEDOUT;
      return -1;
    }
    timespec slice =
        ToTimespec(Read(CLOCK_MONOTONIC) + std::min<int64_t>(left, kLook));
    const long outcome =
        Kernel(SYS_futex, word, operation & ~FUTEX_CLOCK_REALTIME, value,
               &slice, nullptr, bits);
    if (outcome == 0 || errno != ETIMEDOUT) return outcome;
  }
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (Kernel(SYS_clock_gettime, clock, now) != 0) return -1;
  if (IsWallClock(clock)) *now = ToTimespec(Nanos(*now) + Ahead());
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  const int64_t nanos = Read(CLOCK_REALTIME) + Ahead();
  *now = {static_cast<time_t>(nanos / kSecond),
          static_cast<suseconds_t>(nanos % kSecond / 1000)};
  return 0;
}

time_t time(time_t* now) noexcept {
  const time_t seconds = (Read(CLOCK_REALTIME) + Ahead()) / kSecond;
  if (now != nullptr) *now = seconds;
  return seconds;
}

long syscall(long number, ...) noexcept {
  long of[6];
  va_list arguments;
  va_start(arguments, number);
  for (long& argument : of) argument = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_futex && of[3] != 0 &&
      (of[1] & ~FUTEX_PRIVATE_FLAG) ==
          (FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME)) {
    return WaitUntilWallTime(of[0], of[1], of[2],
                             Nanos(*reinterpret_cast<const timespec*>(of[3])),
                             of[5]);
  }
  return Kernel(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}

}  // extern "C"
