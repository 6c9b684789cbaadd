#include "services/coordinator/sync/core/straggler_detector.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/time/time.h"

namespace paceline {
namespace {

// Workers that push in turn, 32 samples each, every 100 ms.
class StragglerDetectorTest : public testing::Test {
 protected:
  static constexpr WorkerId kLast{3};

  StragglerDetectorTest() {
    for (uint32_t i = 0; i < 4; ++i) detector_.Join(WorkerId{i});
  }

  // One iteration of everybody, who took so long. What changed for the last.
  StragglerDetector::Changes Iterate(const std::vector<double>& ms) {
    now_ += absl::Milliseconds(100);
    StragglerDetector::Changes last;
    for (uint32_t i = 0; i < ms.size(); ++i) {
      last = detector_.Pushed(now_, WorkerId{i}, absl::Milliseconds(ms[i]), 32);
    }
    return last;
  }

  // Iterations until the last one's flag changes.
  int UntilTheFlagChanges(double ms) {
    int iterations = 1;
    while (!Iterate({20, 20, 20, ms}).flag && iterations < 100) ++iterations;
    return iterations;
  }

  absl::Time now_ = absl::UnixEpoch();
  StragglerDetector detector_;
};

TEST_F(StragglerDetectorTest, EqualWorkersAreNone) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(Iterate({20, 21, 19, 20}).flag);
  }
  EXPECT_NEAR(detector_.Score(kLast), 1, 0.05);
}

TEST_F(StragglerDetectorTest, OneThatAppearsIsFlaggedAtOnce) {
  for (int i = 0; i < 20; ++i) Iterate({20, 20, 20, 20});
  EXPECT_LE(UntilTheFlagChanges(40), 3);
  EXPECT_TRUE(detector_.IsFlagged(kLast));
  EXPECT_GE(detector_.Score(kLast), StragglerDetector::kFlagAt);
}

TEST_F(StragglerDetectorTest, OneThatRecoversIsClearedWithinTenIterations) {
  for (int i = 0; i < 20; ++i) Iterate({20, 20, 20, 80});
  ASSERT_TRUE(detector_.IsFlagged(kLast));
  EXPECT_LE(UntilTheFlagChanges(20), 10);
  EXPECT_FALSE(detector_.IsFlagged(kLast));
}

// Between the two thresholds nothing changes, from whichever side it comes.
TEST_F(StragglerDetectorTest, DoesNotFlap) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(Iterate({20, 20, 20, i % 2 == 0 ? 26.0 : 29.0}).flag);
  }
  for (int i = 0; i < 20; ++i) Iterate({20, 20, 20, 80});
  ASSERT_TRUE(detector_.IsFlagged(kLast));
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(Iterate({20, 20, 20, i % 2 == 0 ? 26.0 : 29.0}).flag);
  }
}

TEST_F(StragglerDetectorTest, IsAStragglerOnceTheFlagLasts) {
  for (int i = 0; i < 20; ++i) Iterate({20, 20, 20, 20});
  for (const bool slow : {true, false}) {
    UntilTheFlagChanges(slow ? 80 : 20);
    const absl::Time flagged = now_;
    int changes = 0;
    for (int i = 0; i < 50; ++i) {
      if (!Iterate({20, 20, 20, slow ? 80.0 : 20.0}).straggler) continue;
      ++changes;
      EXPECT_EQ(now_ - flagged, StragglerDetector::kLasts);
    }
    EXPECT_EQ(changes, 1);
    EXPECT_EQ(detector_.IsStraggler(kLast), slow);
  }
}

TEST_F(StragglerDetectorTest, WhoIsSlowNowAndThenIsNoStraggler) {
  for (int burst = 0; burst < 10; ++burst) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(Iterate({20, 20, 20, 80}).straggler);
    }
    EXPECT_TRUE(detector_.IsFlagged(kLast));
    for (int i = 0; i < 20; ++i) {
      EXPECT_FALSE(Iterate({20, 20, 20, 20}).straggler);
    }
    EXPECT_FALSE(detector_.IsFlagged(kLast));
  }
}

// Twice the samples may take twice the time.
TEST_F(StragglerDetectorTest, MeasuresTimeASample) {
  for (int i = 0; i < 10; ++i) {
    for (uint32_t worker = 0; worker < 4; ++worker) {
      const uint32_t samples = worker == 3 ? 128 : 32;
      detector_.Pushed(now_, WorkerId{worker},
                       absl::Microseconds(600 * samples), samples);
      EXPECT_FALSE(detector_.IsFlagged(WorkerId{worker}));
    }
  }
}

TEST_F(StragglerDetectorTest, AFirstPushWarmsCaches) {
  EXPECT_FALSE(Iterate({20, 20, 20, 2000}).flag);
  EXPECT_FALSE(Iterate({20, 20, 20, 20}).flag);
  EXPECT_NEAR(detector_.Score(kLast), 1, 1e-9);
}

TEST(StragglerDetectorOfTwoTest, FlagsTheSlower) {
  StragglerDetector detector;
  detector.Join(WorkerId{1});
  detector.Join(WorkerId{2});
  const auto push = [&detector](uint32_t worker, int ms) {
    detector.Pushed(absl::UnixEpoch(), WorkerId{worker}, absl::Milliseconds(ms),
                    32);
  };
  for (int i = 0; i < 5; ++i) {
    push(1, 20);
    push(2, 80);
  }
  EXPECT_FALSE(detector.IsFlagged(WorkerId{1}));
  EXPECT_TRUE(detector.IsFlagged(WorkerId{2}));
  detector.Leave(WorkerId{1});
  EXPECT_FALSE(detector.IsFlagged(WorkerId{1}));
  push(2, 80);
  EXPECT_FALSE(detector.IsFlagged(WorkerId{2})) << "of itself alone";
}

}  // namespace
}  // namespace paceline
