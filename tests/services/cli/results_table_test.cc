#include "services/cli/results_table.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/exit_code.h"

namespace paceline {
namespace {

ComparedRuns FakeRuns(const std::string& label,
                      const std::vector<std::string>& texts) {
  ComparedRuns compared = {.label = label};
  for (const std::string& text : texts) {
    compared.runs.push_back(Json::parse(text, nullptr, false));
  }
  return compared;
}

ComparedRuns FakeRun(const std::string& label, const std::string& text) {
  return FakeRuns(label, {text});
}

TEST(ResultsTableTest, ComparesWithTheFirstRun) {
  const ComparedRuns bsp = FakeRun(
      "bsp",
      R"({"paradigm":"bsp","seconds":62.1,"final_accuracy":0.9812,)"
      R"("seconds_to_target":31.2,"samples":180000,"updates":1407,"workers":[)"
      R"({"worker":"w0","iterations":1700,"samples":54400,"seconds":)"
      R"({"load":0,"compute":30,"push":10,"wait":50,"pull":10},)"
      R"("gap":{"p50":1,"p99":1,"max":1},)"
      R"("staleness":{"p50":0,"p99":0,"max":0}}]})");
  // It is called as it was typed.
  const ComparedRuns dssp = FakeRun(
      "dssp",
      R"({"paradigm":"dssp:lower=3,upper=15","seconds":31.2,)"
      R"("final_accuracy":0.981,"seconds_to_target":7.8,"samples":180000,)"
      R"("updates":5625,"workers":[{"worker":"w0","iterations":1700,)"
      R"("samples":54400,"seconds":{"compute":1,"wait":null}}]})");
  EXPECT_EQ(
      ResultsTable({bsp, dssp}),
      R"(PARADIGM  SECONDS  ACCURACY  TO TARGET  SPEED-UP  SAMPLES/S  UPDATES
bsp         62.10    0.9812      31.20     1.00x       2899     1407
dssp        31.20    0.9810       7.80     4.00x       5769     5625

dssp reached the target accuracy 4.00x as soon as bsp: after 7.80 s instead of 31.20 s.
Its workers waited for each other 0% of their time, those of bsp 50%.

bsp (gap and staleness: median/99th percentile/maximum)
  WORKER  ITERATIONS  SAMPLES  COMPUTE  WAIT  PUSH  PULL    GAP  STALENESS
  w0            1700    54400      30%   50%   10%   10%  1/1/1      0/0/0

dssp (gap and staleness: median/99th percentile/maximum)
  WORKER  ITERATIONS  SAMPLES  COMPUTE  WAIT  PUSH  PULL  LOAD  GAP  STALENESS
  w0            1700    54400     100%     -     -     -     -    -          -
)");
}

TEST(ResultsTableTest, ARunThatMissedTheTargetHasNoSpeedUp) {
  EXPECT_EQ(
      ResultsTable({FakeRun("bsp", R"({"seconds":2,"samples":10,)"
                                   R"("seconds_to_target":1})"),
                    FakeRun("asp", R"({"seconds":1,)"
                                   R"("seconds_to_target":null})")}),
      "PARADIGM  SECONDS  ACCURACY  TO TARGET  SPEED-UP  SAMPLES/S  UPDATES\n"
      "bsp          2.00         -       1.00     1.00x          5        0\n"
      "asp          1.00         -          -         -          -        0\n"
      "\nNo other run reached the target accuracy sooner than bsp.\n"
      "asp did not reach the target accuracy.\n");
}

TEST(ResultsTableTest, WithoutAnAccuracyTheLossIsShown) {
  EXPECT_EQ(ResultsTable({FakeRun("bsp", R"({"seconds":2,"accuracy":[)"
                                         R"({"loss":0.9},{"loss":0.25}]})"),
                          FakeRun("asp", R"({"seconds":1,)"
                                         R"("final_accuracy":null})")}),
            "PARADIGM  SECONDS    LOSS  TO TARGET  SPEED-UP  SAMPLES/S  "
            "UPDATES\n"
            "bsp          2.00  0.2500          -     1.00x          -        "
            "0\n"
            "asp          1.00       -          -     2.00x          -        "
            "0\n"
            "\nasp ended 2.00x as soon as bsp: after 1.00 s instead of 2.00 "
            "s.\n");
}

TEST(ResultsTableTest, WhatAProgramMeasuresHasColumns) {
  EXPECT_EQ(
      ResultsTable(
          {FakeRun("bsp", R"({"seconds":2,"seconds_to_target":2,)"
                          R"("target":"perplexity<=20","final_accuracy":null,)"
                          R"("final_metrics":{"loss":3,"perplexity":19.5}})"),
           FakeRun("cgp", R"({"seconds":1,"seconds_to_target":1,)"
                          R"("target":"perplexity<=20",)"
                          R"("final_metrics":{"perplexity":18,"bits":2}})")}),
      "PARADIGM  SECONDS  ACCURACY    BITS  PERPLEXITY  TO TARGET  SPEED-UP  "
      "SAMPLES/S  UPDATES\n"
      "bsp          2.00         -       -     19.5000       2.00     1.00x  "
      "        -        0\n"
      "cgp          1.00         -  2.0000     18.0000       1.00     2.00x  "
      "        -        0\n"
      "\ncgp reached perplexity<=20 2.00x as soon as bsp: after 1.00 s instead "
      "of 2.00 s.\n");
}

TEST(ResultsTableTest, WithoutATargetAllSecondsAreCompared) {
  EXPECT_EQ(
      ResultsTable({FakeRun("bsp", R"({"seconds":2})"),
                    FakeRun("asp", R"({"seconds":1})")}),
      "PARADIGM  SECONDS  ACCURACY  TO TARGET  SPEED-UP  SAMPLES/S  UPDATES\n"
      "bsp          2.00         -          -     1.00x          -        0\n"
      "asp          1.00         -          -     2.00x          -        0\n"
      "\nasp ended 2.00x as soon as bsp: after 1.00 s instead of 2.00 s.\n");
}

TEST(ResultsTableTest, TheFirstMayHaveMissedTheTarget) {
  EXPECT_THAT(
      ResultsTable({FakeRun("bsp", R"({"seconds":2})"),
                    FakeRun("asp", R"({"seconds_to_target":3})"),
                    FakeRun("cgp", R"({"seconds_to_target":1})")}),
      testing::EndsWith("\ncgp reached the target accuracy the soonest.\n"
                        "bsp did not reach the target accuracy.\n"));
}

TEST(ResultsTableTest, OfSeveralRunsThereAreMedians) {
  EXPECT_EQ(
      ResultsTable(
          {FakeRuns("bsp", {R"({"seconds":30,"seconds_to_target":20,)"
                            R"("final_accuracy":0.98,"updates":5})",
                            R"({"seconds":10,"seconds_to_target":8,)"
                            R"("final_accuracy":0.96,"updates":5})",
                            R"({"seconds":20,"seconds_to_target":10,)"
                            R"("final_accuracy":0.97,"updates":5})"}),
           FakeRuns("asp", {R"({"seconds":4,"seconds_to_target":4})",
                            R"({"seconds":6,"seconds_to_target":null})",
                            R"({"seconds":5,"seconds_to_target":5})"}),
           FakeRuns("cgp", {R"({"seconds":1,"seconds_to_target":null})",
                            R"({"seconds":1,"seconds_to_target":1})",
                            R"({"seconds":1,"seconds_to_target":null})"})}),
      "PARADIGM  RUNS              SECONDS                ACCURACY          "
      " TO TARGET  SPEED-UP  SAMPLES/S  UPDATES\n"
      "bsp          3  20.00 (10.00-30.00)  0.9700 (0.9600-0.9800)  10.00 "
      "(8.00-20.00)     1.00x          -        5\n"
      "asp          3     5.00 (4.00-6.00)                       -   5.00 "
      "(4.00-never)     2.00x          -        0\n"
      "cgp          3                 1.00                       -  never "
      "(1.00-never)         -          -        0\n"
      "(medians; the least and the most of the runs stand in brackets)\n"
      "\nasp reached the target accuracy 2.00x as soon as bsp: after 5.00 s "
      "instead of 10.00 s.\n"
      "asp reached the target accuracy in 2 of 3 runs.\n"
      "cgp reached the target accuracy in 1 of 3 runs.\n");
}

TEST(ResultsTableTest, EachOfSeveralTargetsHasAColumn) {
  EXPECT_EQ(
      ResultsTable(
          {FakeRun("bsp", R"({"seconds":30,"seconds_to_target":10,"targets":[)"
                          R"({"accuracy":0.95,"seconds":10},)"
                          R"({"accuracy":0.98,"seconds":20}]})"),
           FakeRun("asp", R"({"seconds":30,"seconds_to_target":5,"targets":[)"
                          R"({"accuracy":0.95,"seconds":5},)"
                          R"({"accuracy":0.98,"seconds":null}]})")}),
      "PARADIGM  SECONDS  ACCURACY  TO 0.95  TO 0.98  SPEED-UP  SAMPLES/S  "
      "UPDATES\n"
      "bsp         30.00         -    10.00    20.00     1.00x          -      "
      "  "
      "0\n"
      "asp         30.00         -     5.00        -     2.00x          -      "
      "  "
      "0\n"
      "\nasp reached the accuracy 0.95 2.00x as soon as bsp: after 5.00 s "
      "instead of 10.00 s.\n");
}

TEST(ResultsTableTest, NothingToCompare) {
  EXPECT_EQ(ResultsTable({}), "");
  EXPECT_FALSE(
      ResultsTable({FakeRun("a", "{}"), FakeRun("b", R"({"workers":[3]})")})
          .empty());
}

TEST(ExitCodeTest, FollowsTheStatusOfARun) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kSuccess);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), ExitCode::kFailed);
  EXPECT_EQ(ExitCodeOf(absl::UnknownError("")), ExitCode::kFailed);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), ExitCode::kNotFound);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")),
            ExitCode::kPrecondition);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("")), ExitCode::kDenied);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), ExitCode::kUnavailable);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")),
            ExitCode::kUnavailable);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("")), ExitCode::kInterrupted);
}

TEST(ExitCodeTest, WrongInputIsUsageUnlessAFileIsMissing) {
  EXPECT_EQ(ExitCodeOfInput(absl::OkStatus()), ExitCode::kSuccess);
  EXPECT_EQ(ExitCodeOfInput(absl::NotFoundError("")), ExitCode::kNotFound);
  EXPECT_EQ(ExitCodeOfInput(absl::DataLossError("")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOfInput(absl::InvalidArgumentError("")), ExitCode::kUsage);
}

}  // namespace

}  // namespace paceline
