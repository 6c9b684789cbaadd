#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "services/coordinator/accuracy.h"

namespace paceline {
namespace {

// Seconds and accuracy of each snapshot, and when 0.8 was reached.
struct Case {
  std::string name;
  std::vector<std::pair<double, double>> points;
  std::optional<double> expected;
};

std::vector<Case> Cases() {
  return {
      {"Nothing", {}, std::nullopt},
      {"Never", {{1, 0.1}, {2, 0.7}, {3, 0.79}}, std::nullopt},
      {"OnePointBelow", {{4, 0.79}}, std::nullopt},
      {"OnePointAlone", {{4, 0.8}}, 4},
      // Before the first snapshot nothing is known: no extrapolation.
      {"FromTheFirst", {{2, 0.9}, {3, 0.9}}, 2},
      // 0.6 at 2 s, 1.0 at 4 s: half way.
      {"Interpolated", {{2, 0.6}, {4, 1.0}, {5, 0.9}}, 3},
      // 0.5 at 10 s, 0.9 at 14 s: three quarters of the way.
      {"InterpolatedUnevenly", {{0, 0.1}, {10, 0.5}, {14, 0.9}, {15, 0.8}}, 13},
      {"ExactlyAtASnapshot", {{1, 0.5}, {2, 0.8}, {3, 0.8}}, 2},
      // It stays above from 7 s on.
      {"ASpikeDoesNotCount",
       {{1, 0.5}, {2, 0.9}, {3, 0.7}, {6, 0.7}, {8, 0.9}, {9, 0.85}},
       7},
      {"ASpikeAloneIsNever", {{1, 0.5}, {2, 0.9}, {3, 0.7}}, std::nullopt},
      {"ASpikeFirst", {{1, 0.9}, {2, 0.7}, {4, 0.9}, {5, 0.9}}, 3},
      {"TwoAreEnough", {{1, 0.6}, {2, 1.0}, {3, 0.8}, {4, 0.1}}, 1.5},
      // After the last one nothing speaks against it.
      {"TheLastAlone", {{1, 0.1}, {2, 0.6}, {4, 1.0}}, 3},
      {"TwoAtOneTime", {{1, 0.6}, {1, 1.0}, {2, 1.0}}, 1},
  };
}

class SecondsToTargetTest : public ::testing::TestWithParam<Case> {};

TEST_P(SecondsToTargetTest, AgreesWithTheTable) {
  std::vector<AccuracyPoint> points;
  for (const auto& [seconds, accuracy] : GetParam().points) {
    AccuracyPoint point;
    point.seconds = seconds;
    point.accuracy = accuracy;
    points.push_back(point);
  }
  const std::optional<double> seconds =
      SecondsToTarget(points, AccuracyTarget(0.8));
  ASSERT_EQ(seconds.has_value(), GetParam().expected.has_value());
  EXPECT_NEAR(seconds.value_or(0), GetParam().expected.value_or(0), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Table, SecondsToTargetTest,
                         ::testing::ValuesIn(Cases()),
                         [](const auto& instance) {
                           return instance.param.name;
                         });

AccuracyPoint Perplexity(double seconds, std::optional<double> value) {
  AccuracyPoint point;
  point.seconds = seconds;
  if (value.has_value()) point.metrics["perplexity"] = *value;
  return point;
}

TEST(SecondsToMetricTest, DownwardsToo) {
  const MetricTarget target = *ParseMetricTarget("perplexity<=20");
  // 30 at 2 s, 10 at 4 s: half way.
  EXPECT_EQ(
      SecondsToTarget({Perplexity(2, 30), Perplexity(4, 10), Perplexity(5, 20)},
                      target),
      3);
  EXPECT_EQ(
      SecondsToTarget({Perplexity(2, 30), Perplexity(4, 10), Perplexity(5, 21)},
                      target),
      std::nullopt);
  // From what was not measured nothing is inferred.
  EXPECT_EQ(
      SecondsToTarget({Perplexity(2, {}), Perplexity(4, 10), Perplexity(5, 11)},
                      target),
      4);
  EXPECT_EQ(SecondsToTarget({Perplexity(2, 10), Perplexity(4, {})}, target),
            std::nullopt);
  EXPECT_EQ(SecondsToTarget({Perplexity(2, 10)}, AccuracyTarget(0.1)),
            std::nullopt);
}

TEST(TargetReachedTest, ByTwoInARow) {
  const auto reached = [](const std::vector<double>& losses) {
    std::vector<AccuracyPoint> points;
    for (const double loss : losses) {
      AccuracyPoint point;
      point.loss = loss;
      points.push_back(point);
    }
    return TargetReached(points, LossTarget(0.5));
  };
  EXPECT_FALSE(reached({}));
  EXPECT_FALSE(reached({0.1}));
  EXPECT_FALSE(reached({0.5, 0.6, 0.5, 0.51}));
  EXPECT_TRUE(reached({0.9, 0.5, 0.5, 0.9}));
  EXPECT_TRUE(reached({0.4, 0.2}));
  const MetricTarget target = *ParseMetricTarget("perplexity<=20");
  EXPECT_TRUE(TargetReached({Perplexity(1, 19), Perplexity(2, 20)}, target));
  EXPECT_FALSE(TargetReached(
      {Perplexity(1, 19), Perplexity(2, {}), Perplexity(3, 19)}, target));
}

}  // namespace
}  // namespace paceline
