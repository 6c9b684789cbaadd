#include "common/futex_clock.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/check.h"

namespace paceline {
namespace {

using SystemCall = decltype(&::syscall);

// Not a static of a function: what guards one may wait by syscall() itself.
std::atomic<SystemCall> of_the_c_library{nullptr};

SystemCall OfTheCLibrary() {
  SystemCall found = of_the_c_library.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = reinterpret_cast<SystemCall>(dlsym(RTLD_NEXT, "syscall"));
    CHECK(found != nullptr);
    of_the_c_library.store(found, std::memory_order_relaxed);
  }
  return found;
}

using Nanos = int64_t;

constexpr Nanos kSecond = 1'000'000'000;
// Less than that is no setting of the clock, but its being kept right.
constexpr Nanos kStep = kSecond / 20;
// Abseil asks for the wall clock every two seconds or so, and counts cycles in
// between: for so long it may take the time from before the setting for now.
constexpr Nanos kStale = 10 * kSecond;

Nanos ToNanos(const timespec& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

Nanos TimeOf(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return ToNanos(now);
}

// Somebody has set the wall clock: by how much it was ahead of the monotonic
// one until then, and when that was seen.
struct Setting {
  std::atomic<Nanos> ahead_before{0};
  std::atomic<Nanos> at{-kStale};
};

// Without a lock, which would wait by syscall() itself: who sees a setting at
// the same time notes the same.
std::array<Setting, 4> settings;
std::atomic<size_t> next_setting{0};
std::atomic<Nanos> ahead{0};

Nanos AheadAt(Nanos monotonic) {
  const Nanos now = TimeOf(CLOCK_REALTIME) - monotonic;
  Nanos known = ahead;
  if (std::abs(now - known) > kStep) {
    Setting& setting = settings[next_setting++ % settings.size()];
    setting.ahead_before = known;
    setting.at = monotonic;
    ahead.compare_exchange_strong(known, now);
  }
  return now;
}

// The moment of the monotonic clock that is meant. Where somebody has just set
// the wall clock, that one is meant after which the wait is short.
timespec OnMonotonicClock(const timespec& wall_time) {
  const Nanos now = TimeOf(CLOCK_MONOTONIC);
  const Nanos until = ToNanos(wall_time) - now;
  Nanos left = until - AheadAt(now);
  for (const Setting& setting : settings) {
    if (now - setting.at > kStale) continue;
    const Nanos left_before = until - setting.ahead_before;
    if (std::abs(left_before) < std::abs(left)) left = left_before;
  }
  const Nanos end = now + std::max<Nanos>(left, 0);
  return {static_cast<time_t>(end / kSecond),
          static_cast<decltype(timespec::tv_nsec)>(end % kSecond)};
}

}  // namespace

void UseFutexClock() { AheadAt(TimeOf(CLOCK_MONOTONIC)); }

}  // namespace paceline

// NOLINTBEGIN: the C library says how it is declared.
// As the C library's own does, it reads six arguments however many there are.
// The sixth comes from the stack, where AddressSanitizer may see a red zone of
// the caller's frame.
extern "C" __attribute__((visibility("default"), no_sanitize("address"))) long
syscall(long number, ...) noexcept {
  long of[6];
  va_list arguments;
  va_start(arguments, number);
  for (long& argument : of) argument = va_arg(arguments, long);
  va_end(arguments);
  timespec until = {};
  const bool waits_by_wall_clock =
      number == SYS_futex && of[3] != 0 &&
      (of[1] & ~FUTEX_PRIVATE_FLAG) ==
          (FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME);
  if (waits_by_wall_clock) {
    until =
        paceline::OnMonotonicClock(*reinterpret_cast<const timespec*>(of[3]));
    of[1] &= ~FUTEX_CLOCK_REALTIME;
    of[3] = reinterpret_cast<intptr_t>(&until);
  }
  return paceline::OfTheCLibrary()(number, of[0], of[1], of[2], of[3], of[4],
                                   of[5]);
}
// NOLINTEND
