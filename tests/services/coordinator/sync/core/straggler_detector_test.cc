#include "services/coordinator/sync/core/straggler_detector.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace paceline {
namespace {

// Workers that push in turn, 32 samples each.
class StragglerDetectorTest : public testing::Test {
 protected:
  explicit StragglerDetectorTest(uint32_t workers = 4) {
    for (uint32_t i = 0; i < workers; ++i) detector_.Join(WorkerId{i});
  }

  // One iteration of everybody, who took so long. What changed for the last.
  std::optional<StragglerDetector::Change> Iterate(
      const std::vector<double>& ms) {
    std::optional<StragglerDetector::Change> last;
    for (uint32_t i = 0; i < ms.size(); ++i) {
      last = detector_.Pushed(WorkerId{i}, absl::Milliseconds(ms[i]), 32);
    }
    return last;
  }

  StragglerDetector detector_;
};

TEST_F(StragglerDetectorTest, EqualWorkersAreNone) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Iterate({20, 21, 19, 20}), std::nullopt);
  }
  EXPECT_NEAR(detector_.Score(WorkerId{3}), 1, 0.05);
}

TEST_F(StragglerDetectorTest, OneThatAppearsIsFlaggedWithinTenIterations) {
  for (int i = 0; i < 20; ++i) Iterate({20, 20, 20, 20});
  int iterations = 0;
  std::optional<StragglerDetector::Change> change;
  while (!change && ++iterations < 100) change = Iterate({20, 20, 20, 40});
  EXPECT_LE(iterations, 3);
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(change->straggler);
  EXPECT_GE(change->score, StragglerDetector::kFlagAt);
  EXPECT_TRUE(detector_.IsStraggler(WorkerId{3}));
}

TEST_F(StragglerDetectorTest, OneThatRecoversIsClearedWithinTenIterations) {
  for (int i = 0; i < 20; ++i) Iterate({20, 20, 20, 80});
  ASSERT_TRUE(detector_.IsStraggler(WorkerId{3}));
  int iterations = 0;
  std::optional<StragglerDetector::Change> change;
  while (!change && ++iterations < 100) change = Iterate({20, 20, 20, 20});
  EXPECT_LE(iterations, 10);
  EXPECT_FALSE(change->straggler);
}

// Between the two thresholds nothing changes, from whichever side it comes.
TEST_F(StragglerDetectorTest, DoesNotFlap) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Iterate({20, 20, 20, i % 2 == 0 ? 26.0 : 29.0}), std::nullopt);
  }
  for (int i = 0; i < 20; ++i) Iterate({20, 20, 20, 80});
  ASSERT_TRUE(detector_.IsStraggler(WorkerId{3}));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Iterate({20, 20, 20, i % 2 == 0 ? 26.0 : 29.0}), std::nullopt);
  }
}

// Twice the samples may take twice the time.
TEST_F(StragglerDetectorTest, MeasuresTimeASample) {
  for (int i = 0; i < 10; ++i) {
    for (uint32_t worker = 0; worker < 4; ++worker) {
      const uint32_t samples = worker == 3 ? 128 : 32;
      EXPECT_EQ(detector_.Pushed(WorkerId{worker},
                                 absl::Microseconds(600 * samples), samples),
                std::nullopt);
    }
  }
}

TEST_F(StragglerDetectorTest, AFirstPushWarmsCaches) {
  EXPECT_EQ(Iterate({20, 20, 20, 2000}), std::nullopt);
  EXPECT_EQ(Iterate({20, 20, 20, 20}), std::nullopt);
  EXPECT_NEAR(detector_.Score(WorkerId{3}), 1, 1e-9);
}

TEST(StragglerDetectorOfTwoTest, FlagsTheSlower) {
  StragglerDetector detector;
  detector.Join(WorkerId{1});
  detector.Join(WorkerId{2});
  for (int i = 0; i < 5; ++i) {
    detector.Pushed(WorkerId{1}, absl::Milliseconds(20), 32);
    detector.Pushed(WorkerId{2}, absl::Milliseconds(80), 32);
  }
  EXPECT_FALSE(detector.IsStraggler(WorkerId{1}));
  EXPECT_TRUE(detector.IsStraggler(WorkerId{2}));
  detector.Leave(WorkerId{1});
  EXPECT_FALSE(detector.IsStraggler(WorkerId{1}));
  detector.Pushed(WorkerId{2}, absl::Milliseconds(80), 32);
  EXPECT_FALSE(detector.IsStraggler(WorkerId{2})) << "of itself alone";
}

}  // namespace
}  // namespace paceline
