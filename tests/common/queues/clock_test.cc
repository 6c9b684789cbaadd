#include "common/clock.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(RealClockTest, NeverGoesBack) {
  const Clock& clock = Clock::Real();
  absl::Time last = clock.Now();
  for (int i = 0; i < 10'000; ++i) {
    const absl::Time now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, GoesForward) {
  const Clock& clock = Clock::Real();
  const absl::Time began = clock.Now();
  // Ends with the test's time-out if it does not.
  while (clock.Now() == began) {
  }
  EXPECT_GT(clock.Now(), began);
}

TEST(RealClockTest, IsOneForTheProcess) {
  EXPECT_EQ(&Clock::Real(), &Clock::Real());
}

}  // namespace
}  // namespace paceline
