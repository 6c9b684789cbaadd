#include "services/cli/compared_runs.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(SpreadTest, TheMedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(MedianOf({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_EQ(MedianOf({1, kNever}), kNever);
}

TEST(SpreadTest, IsShownWithAsManyDigitsAsAskedFor) {
  EXPECT_EQ(FormatSpread({2, 1, 3.25}, 2), "2.00 (1.00-3.25)");
  EXPECT_EQ(FormatSpread({2.001, 2, 2.004}, 2), "2.00");
  EXPECT_EQ(FormatSpread({2, 1, kNever}, 0), "2 (1-never)");
  EXPECT_EQ(SpreadJson({2, 1, kNever}).dump(),
            R"({"median":2.0,"min":1.0,"max":null})");
}

TEST(ByTurnsTest, EveryParadigmRunsBeforeAnyRunsAgain) {
  const std::vector<RepeatedRun> runs = ByTurns(2, 3, 7);
  ASSERT_EQ(runs.size(), 6);
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].option, i % 2);
    EXPECT_EQ(runs[i].turn, i / 2);
    EXPECT_EQ(runs[i].seed, 7 + i / 2);
  }
}

TEST(ComparedRunsTest, ARunThatNeverGotThereIsLaterThanAllOthers) {
  const ComparedRuns runs = {
      .label = "asp",
      .runs = {
          {{"seconds", 2}, {"samples", 10}, {"seconds_to_target", 1}},
          {{"seconds", 4}, {"samples", 10}, {"seconds_to_target", nullptr}},
          {{"seconds", 5}, {"samples", 10}, {"seconds_to_target", 3}}}};
  EXPECT_EQ(SummariesJson({runs}).dump(),
            R"([{"paradigm":"asp","runs":3,"reached":2,)"
            R"("seconds":{"median":4.0,"min":2.0,"max":5.0},)"
            R"("seconds_to_target":{"median":3.0,"min":1.0,"max":null},)"
            R"("final_accuracy":null,)"
            R"("samples_per_second":{"median":2.5,"min":2.0,"max":5.0},)"
            R"("updates":null,"pushes":null}])");
  EXPECT_FALSE(SpreadOfTime(runs, "no_such").has_value());
}

}  // namespace
}  // namespace paceline
