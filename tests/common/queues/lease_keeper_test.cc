#include "common/lease_keeper.h"

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/run/manual_clock.h"

namespace paceline {
namespace {

// Heartbeats follow each other at once; by the manual clock no time passes.
constexpr absl::Duration kShort = absl::Milliseconds(3);

TEST(LeaseKeeperTest, BeatsUntilItIsStopped) {
  ManualClock clock;
  LeaseKeeper keeper(&clock, kShort);
  std::atomic<int> beats = 0;
  keeper.Start([&] { ++beats; }, [] { ADD_FAILURE() << "not silent"; });
  while (beats < 5) std::this_thread::yield();
  keeper.Stop();
  const int then = beats;
  keeper.Stop();
  EXPECT_EQ(beats, then);
}

TEST(LeaseKeeperTest, ANewLeaseCountsAtOnce) {
  ManualClock clock;
  LeaseKeeper keeper(&clock, absl::Hours(10));
  absl::Notification beaten;
  std::atomic<bool> first = true;
  keeper.Start(
      [&] {
        if (first.exchange(false)) beaten.Notify();
      },
      [] {});
  keeper.SetLease(absl::Hours(1));
  EXPECT_TRUE(beaten.WaitForNotificationWithTimeout(absl::Minutes(1)));
  EXPECT_EQ(keeper.lease(), absl::Hours(1));
}

TEST(LeaseKeeperTest, GivesUpAPeerThatIsSilentForTwoLeases) {
  ManualClock clock;
  LeaseKeeper keeper(&clock, kShort);
  std::atomic<int> beats = 0;
  absl::Notification silent;
  keeper.Start([&] { ++beats; }, [&] { silent.Notify(); });
  for (int i = 0; i < 5; ++i) {
    clock.Advance(2 * kShort);
    keeper.Heard();
    const int then = beats;
    while (beats < then + 2) std::this_thread::yield();
  }
  EXPECT_FALSE(silent.HasBeenNotified());
  clock.Advance(3 * kShort);
  EXPECT_TRUE(silent.WaitForNotificationWithTimeout(absl::Minutes(1)));
}

TEST(LeaseKeeperTest, NeedNotBeStarted) {
  ManualClock clock;
  LeaseKeeper keeper(&clock, kShort);
  keeper.Heard();
}

}  // namespace
}  // namespace paceline
