#include "common/standstill.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/common/stand_still.h"

namespace paceline {
namespace {

TEST(StandstillTest, IsTheTimeInWhichTheProcessDidNotRun) {
  const absl::Time began = Clock::Real().Now();
  EXPECT_EQ(StandstillIn(began, absl::Milliseconds(1)), absl::ZeroDuration());
  StandStill(absl::Seconds(1));
  EXPECT_GE(StandstillIn(began, absl::Milliseconds(1)),
            absl::Milliseconds(900));
  EXPECT_EQ(StandstillIn(began, absl::Hours(1)), absl::ZeroDuration());
}

}  // namespace
}  // namespace paceline
