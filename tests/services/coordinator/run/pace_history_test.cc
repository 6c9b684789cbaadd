#include "services/coordinator/run/pace_history.h"

#include <cmath>

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr WorkerId kWorker{3};

MeasuredIteration Took(double seconds, uint32_t samples) {
  return {.compute = absl::Seconds(seconds), .samples = samples};
}

TEST(PaceHistoryTest, KeepsTheLatest) {
  PaceHistory history;
  for (int i = 1; i <= 100; ++i) {
    history.Granted(kWorker, 0, 32, 32);
    history.Reported(kWorker, Took(i, 32));
  }
  const auto kept = history.Of(kWorker);
  ASSERT_EQ(kept.size(), PaceHistory::kKept);
  EXPECT_EQ(kept.front().compute, absl::Seconds(37));
  EXPECT_EQ(kept.back().compute, absl::Seconds(100));
  history.Left(kWorker);
  EXPECT_TRUE(history.Of(kWorker).empty());
}

TEST(PaceHistoryTest, CountsMicroBatches) {
  PaceHistory history;
  history.Granted(kWorker, 0, 32, 32);
  history.Reported(kWorker, Took(1, 32));
  // Four, and one for what it took from others.
  history.Granted(kWorker, 0, 32, 8);
  history.Extended(kWorker, 4);
  history.Reported(kWorker, Took(1, 36));
  // Told to push a half of it.
  history.Granted(kWorker, 0, 32, 8);
  history.Reported(kWorker, Took(1, 16));
  const auto kept = history.Of(kWorker);
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].micro_batches, 1u);
  EXPECT_EQ(kept[1].micro_batches, 5u);
  EXPECT_EQ(kept[2].micro_batches, 2u);
}

TEST(PaceHistoryTest, LeavesOutWhatSaysNothing) {
  PaceHistory history;
  history.Reported(kWorker, Took(1, 32));  // It was not granted here.
  history.Granted(kWorker, 0, 32, 32);
  history.Reported(kWorker, Took(1, 0));
  history.Granted(kWorker, 0, 32, 32);
  history.Reported(kWorker, Took(0, 32));
  history.Reported(kWorker, Took(1, 32));  // Again.
  for (const double never : {-1.0, 1e6, std::nan(""), HUGE_VAL}) {
    history.Granted(kWorker, 0, 32, 32);
    history.Reported(kWorker, Took(never, 32));
    history.Granted(kWorker, 0, 32, 32);
    history.Reported(kWorker, {.compute = absl::Seconds(1),
                               .push = absl::Seconds(never),
                               .samples = 32});
  }
  EXPECT_TRUE(history.Of(kWorker).empty());
}

// Else only the short ones would be known.
TEST(PaceHistoryTest, WhatIsBrokenOffCountsAsWhatItWouldHaveTaken) {
  PaceHistory history;
  for (const double seconds : {1.0, 2.0, 4.0}) {
    history.Granted(kWorker, 0, 32, 32);
    history.Reported(kWorker, Took(seconds, 32));
  }
  const auto broken_off_after = [&history](double seconds) {
    history.Granted(kWorker, 10, 16, 16);
    history.BrokenOff(kWorker, 10 + seconds);
    return absl::ToDoubleSeconds(history.Of(kWorker).back().compute);
  };
  EXPECT_EQ(broken_off_after(1.5), 2);  // The half of 4.
  EXPECT_EQ(broken_off_after(9), 9);    // None was longer.
  EXPECT_TRUE(history.Of(kWorker).back().discarded);
  EXPECT_EQ(history.Of(kWorker).size(), 5u);
}

TEST(PaceHistoryTest, OfWhomNothingWasFinishedNothingIsKnown) {
  PaceHistory history;
  history.Granted(kWorker, 0, 32, 32);
  history.BrokenOff(kWorker, 5);
  EXPECT_TRUE(history.Of(kWorker).empty());
}

// The network was used as for the one before.
TEST(PaceHistoryTest, WhatIsBrokenOffHasPulledAndWouldHavePushed) {
  PaceHistory history;
  history.Granted(kWorker, 0, 32, 32);
  history.Reported(kWorker, {.compute = absl::Seconds(1),
                             .push = absl::Seconds(2),
                             .pull = absl::Seconds(3),
                             .samples = 32});
  history.Granted(kWorker, 10, 32, 32);
  history.BrokenOff(kWorker, 10 + 3 + 1.5);
  const MeasuredIteration last = history.Of(kWorker).back();
  EXPECT_EQ(last.compute, absl::Seconds(1.5));
  EXPECT_EQ(last.push, absl::Seconds(2));
  EXPECT_EQ(last.pull, absl::Seconds(3));
}

}  // namespace
}  // namespace paceline
