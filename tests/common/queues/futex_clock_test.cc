// This program's clock_gettime() is the test's: it says what the wall clock
// would if somebody had set it. The kernel does not know of it, so a wait that
// it keeps by the wall clock ends an hour early or late.

#include "common/futex_clock.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "common/clock.h"
#include "gtest/gtest.h"

namespace {

std::atomic<time_t> wall_clock_ahead{0};  // Seconds.

}  // namespace

// NOLINTBEGIN: the C library says how it is declared.
extern "C" __attribute__((visibility("default"))) int clock_gettime(
    clockid_t clock, timespec* now) noexcept {
  const long outcome = ::syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += wall_clock_ahead;
  return static_cast<int>(outcome);
}
// NOLINTEND

namespace paceline {
namespace {

constexpr absl::Duration kWait = absl::Milliseconds(50);

class FutexClockTest : public testing::TestWithParam<time_t> {
 protected:
  FutexClockTest() { wall_clock_ahead = GetParam(); }
  ~FutexClockTest() override { wall_clock_ahead = 0; }

  absl::Duration Passed() const { return Clock::Real().Now() - began_; }

 private:
  const absl::Time began_ = Clock::Real().Now();
};

TEST_P(FutexClockTest, AWaitLastsAsLongAsItShall) {
  absl::Notification never;
  EXPECT_FALSE(never.WaitForNotificationWithTimeout(kWait));
  EXPECT_GE(Passed(), kWait);
}

TEST_P(FutexClockTest, AWaitOfAConditionVariableToo) {
  absl::Mutex mu;
  absl::CondVar condition;
  absl::MutexLock lock(&mu);
  // It may wake for nothing, but not always.
  while (Passed() < kWait) {
    Clock::Real().Wait(condition, mu, Clock::Real().Now() + kWait);
  }
}

INSTANTIATE_TEST_SUITE_P(AnHour, FutexClockTest,
                         testing::Values(0, -3600, 3600),
                         [](const auto& param) {
                           return param.param == 0  ? "Right"
                                  : param.param < 0 ? "Behind"
                                                    : "Ahead";
                         });

// Abseil is a shared library: what it calls is looked up by name.
TEST(FutexClockNameTest, IsWhatSharedLibrariesFind) {
  UseFutexClock();
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "syscall"),
            reinterpret_cast<void*>(&::syscall));
}

}  // namespace
}  // namespace paceline
