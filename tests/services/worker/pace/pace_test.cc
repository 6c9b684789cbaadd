#include "services/worker/pace/pace.h"

#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr absl::Duration kMs = absl::Milliseconds(1);
const absl::Time kStart = absl::UnixEpoch() + absl::Hours(5);

// How long an iteration of `samples`, begun at `start`, lasts for this pace
// when this machine computes for `compute`. Batches of 32.
absl::Duration Lasts(const PaceSpec& spec, absl::Duration compute,
                     int samples = 32) {
  Pace pace(spec, 32, /*seed=*/1);
  pace.Begin(kStart);
  return pace.Until(compute, samples) - kStart;
}

PaceSpec Parsed(const PaceFlags& flags) { return *ParsePace(flags); }

TEST(PaceTest, WithoutFlagsNothingIsSleptOut) {
  EXPECT_EQ(Lasts({}, 7 * kMs), 7 * kMs);
}

TEST(PaceTest, SlowdownMultipliesTheComputeTime) {
  EXPECT_EQ(Lasts(Parsed({.slowdown = "4"}), 7 * kMs), 28 * kMs);
  EXPECT_EQ(Lasts(Parsed({.slowdown = "1.5"}), 8 * kMs), 12 * kMs);
}

TEST(PaceTest, StepTimeIsForAFullBatchAndOthersInProportion) {
  const PaceSpec spec = Parsed({.step_time = "20ms"});
  EXPECT_EQ(Lasts(spec, 7 * kMs), 20 * kMs);
  EXPECT_EQ(Lasts(spec, 2 * kMs, 8), 5 * kMs);
  EXPECT_EQ(Lasts(spec, 2 * kMs, 64), 40 * kMs);
}

TEST(PaceTest, SlowdownMultipliesTheStepTime) {
  const PaceSpec spec = Parsed({.slowdown = "4", .step_time = "20ms"});
  EXPECT_EQ(Lasts(spec, 7 * kMs), 80 * kMs);
  EXPECT_EQ(Lasts(Parsed({.slowdown = "0.5", .step_time = "20ms"}), 7 * kMs),
            10 * kMs);
}

TEST(PaceTest, IsNeverFasterThanTheMachine) {
  EXPECT_EQ(Lasts(Parsed({.step_time = "20ms"}), 33 * kMs), 33 * kMs);
}

TEST(PaceTest, DelayComesOnTop) {
  EXPECT_EQ(Lasts(Parsed({.slowdown = "2", .delay = "constant:5ms"}), 7 * kMs),
            19 * kMs);
}

TEST(PaceTest, MicroBatchesAddUpToTheIteration) {
  Pace pace(Parsed({.step_time = "20ms", .delay = "constant:5ms"}), 32, 1);
  pace.Begin(kStart);
  EXPECT_EQ(pace.Until(2 * kMs, 8) - kStart, 10 * kMs);
  EXPECT_EQ(pace.Until(5 * kMs, 24) - kStart, 20 * kMs);
  EXPECT_EQ(pace.Until(7 * kMs, 32) - kStart, 25 * kMs);
}

TEST(PaceTest, MicroBatchesCostAShareOfTheStepTime) {
  Pace pace(Parsed({.slowdown = "2",
                    .step_time = "20ms",
                    .delay = "constant:5ms",
                    .micro_batch_cost = "0.25"}),
            32, 1);
  pace.Begin(kStart);
  EXPECT_EQ(pace.Until(2 * kMs, 8) - kStart, 15 * kMs);
  EXPECT_EQ(pace.Until(5 * kMs, 24, 1) - kStart, 45 * kMs);
  EXPECT_EQ(pace.Until(7 * kMs, 32, 2) - kStart, 65 * kMs);
}

TEST(PaceTest, DelaysAreDrawnPerIterationFromTheSeed) {
  const PaceSpec spec = Parsed({.delay = "exponential:mean=10ms"});
  const auto delays = [&spec](uint64_t seed) {
    Pace pace(spec, 32, seed);
    std::vector<absl::Duration> drawn;
    for (int i = 0; i < 10; ++i) {
      pace.Begin(kStart);
      drawn.push_back(pace.Until(absl::ZeroDuration(), 0) - kStart);
      // Asked again within the iteration it says the same.
      EXPECT_EQ(pace.Until(absl::ZeroDuration(), 0) - kStart, drawn.back());
    }
    return drawn;
  };
  EXPECT_EQ(delays(1), delays(1));
  EXPECT_NE(delays(1), delays(2));
  EXPECT_NE(delays(1)[0], delays(1)[1]);
}

// When the 2 ms that an iteration needs are over, begun `at` after the first.
absl::Duration EndOf(absl::Duration at, absl::string_view pause,
                     absl::Duration compute = 2 * kMs) {
  Pace pace(Parsed({.pause = pause}), 32, 1);
  pace.Begin(kStart);
  pace.Begin(kStart + at);
  return pace.Until(compute, 32) - kStart;
}

// Pauses at [10, 13), [20, 23), ... ms.
TEST(PaceTest, PausesStopTheDevice) {
  const char* pause = "every=10ms,for=3ms";
  EXPECT_EQ(EndOf(0 * kMs, pause), 2 * kMs);
  EXPECT_EQ(EndOf(7 * kMs, pause), 9 * kMs);
  EXPECT_EQ(EndOf(8 * kMs, pause), 10 * kMs);   // Just in time.
  EXPECT_EQ(EndOf(9 * kMs, pause), 14 * kMs);   // 1 before, 1 after.
  EXPECT_EQ(EndOf(10 * kMs, pause), 15 * kMs);  // Begun in the pause.
  EXPECT_EQ(EndOf(12 * kMs, pause), 15 * kMs);
  EXPECT_EQ(EndOf(13 * kMs, pause), 15 * kMs);
  EXPECT_EQ(EndOf(18 * kMs, pause), 20 * kMs);
  EXPECT_EQ(EndOf(39 * kMs, pause), 44 * kMs);
  // Over three pauses: 8 to 10, 13 to 20, 23 to 30, 33 to 34.
  EXPECT_EQ(EndOf(8 * kMs, pause, 17 * kMs), 34 * kMs);
}

TEST(PaceTest, TheFirstPauseCanBeMoved) {
  EXPECT_EQ(EndOf(1 * kMs, "every=10ms,for=3ms,first=2ms"), 6 * kMs);
  EXPECT_EQ(EndOf(0 * kMs, "every=10ms,for=3ms,first=0s"), 5 * kMs);
  EXPECT_EQ(EndOf(11 * kMs, "every=10ms,for=3ms,first=2ms"), 16 * kMs);
}

// Pauses by simulation in steps of a quarter millisecond, as a second opinion.
TEST(PaceTest, PausesAgreeWithSteppingThroughTime) {
  const absl::Duration step = kMs / 4;
  for (int at = 0; at < 130; ++at) {
    for (const int work : {1, 5, 8, 40, 77}) {
      int now = at;
      for (int left = work; left > 0; ++now) {
        // In quarters: every 30, for 8, first at 12.
        const bool paused = now >= 12 && (now - 12) % 30 < 8;
        if (!paused) --left;
      }
      EXPECT_EQ(EndOf(at * step, "every=7.5ms,for=2ms,first=3ms", work * step),
                now * step)
          << at << " " << work;
    }
  }
}

}  // namespace
}  // namespace paceline
