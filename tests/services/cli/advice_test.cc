#include "services/cli/advice.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kWorkers = 4;

// A run of ten seconds.
SimulationResult Ran(int64_t samples, int64_t staleness = 0) {
  SimulationResult result;
  result.complete = true;
  result.duration = Nanos{10} * 1'000'000'000;
  result.samples = samples;
  result.staleness.Add(staleness, 100);
  return result;
}

SimulationResult Reached(std::optional<double> seconds) {
  SimulationResult result = Ran(1000);
  result.accuracy.push_back({.accuracy = seconds.has_value() ? 0.98 : 0.9});
  result.seconds_to_target = seconds;
  return result;
}

std::vector<std::string> LabelsOf(const std::vector<AdvisedOption>& options) {
  std::vector<std::string> labels;
  labels.reserve(options.size());
  for (const AdvisedOption& option : options) labels.push_back(option.label);
  return labels;
}

TEST(AdviceTest, TheFastestComesFirst) {
  const auto ranked = RankOptions({{"bsp", {Ran(1000), Ran(1100), Ran(900)}},
                                   {"cgp", {Ran(2000), Ran(4000), Ran(3000)}}},
                                  kWorkers, /*to_target=*/false);
  ASSERT_THAT(LabelsOf(ranked), ElementsAre("cgp", "bsp"));
  EXPECT_DOUBLE_EQ(ranked[0].samples_per_second.median, 300);
  EXPECT_DOUBLE_EQ(ranked[0].samples_per_second.min, 200);
  EXPECT_DOUBLE_EQ(ranked[0].samples_per_second.max, 400);
  EXPECT_DOUBLE_EQ(ranked[0].speed_up.value_or(0), 3);
  EXPECT_EQ(Conclusion(ranked, "bsp"),
            "cgp is worth 3.00 times as much as bsp: use --paradigm cgp\n");
}

TEST(AdviceTest, AnEvenNumberOfRunsHasTheMeanOfTheTwoInTheMiddle) {
  const auto ranked = RankOptions(
      {{"bsp", {Ran(4000), Ran(1000), Ran(2000), Ran(3000)}}}, kWorkers, false);
  EXPECT_DOUBLE_EQ(ranked[0].samples_per_second.median, 250);
}

TEST(AdviceTest, SamplesThatTaughtNothingDoNotCount) {
  SimulationResult wasteful = Ran(2000);
  wasteful.samples_discarded = 1500;
  const auto ranked = RankOptions({{"bsp", {Ran(1000)}}, {"saps", {wasteful}}},
                                  kWorkers, false);
  ASSERT_THAT(LabelsOf(ranked), ElementsAre("bsp", "saps"));
  EXPECT_DOUBLE_EQ(ranked[1].speed_up.value_or(0), 0.5);
}

TEST(AdviceTest, StalenessIsTakenOff) {
  const auto ranked =
      RankOptions({{"bsp", {Ran(1000)}}, {"asp", {Ran(1200, 3)}}}, kWorkers,
                  /*to_target=*/false);
  EXPECT_THAT(LabelsOf(ranked), ElementsAre("bsp", "asp"));
}

TEST(AdviceTest, ASmallGainIsNoAdvice) {
  const auto ranked = RankOptions({{"bsp", {Ran(1000)}}, {"cgp", {Ran(1050)}}},
                                  kWorkers, false);
  ASSERT_THAT(LabelsOf(ranked), ElementsAre("cgp", "bsp"));
  EXPECT_THAT(Conclusion(ranked, "bsp"), HasSubstr("use --paradigm bsp\n"));
  EXPECT_EQ(AdviceJson(ranked, "bsp")["advised"], "bsp");
}

TEST(AdviceTest, ATargetDecidesAlone) {
  // More samples a second do not help whoever learns less from them.
  SimulationResult slow = Reached(9.0);
  slow.samples = 10;
  const auto ranked =
      RankOptions({{"asp", {Reached(30.0), Reached(31.0), Reached(29.0)}},
                   {"bsp", {slow, Reached(10.0), Reached(std::nullopt)}}},
                  kWorkers, /*to_target=*/true);
  ASSERT_THAT(LabelsOf(ranked), ElementsAre("bsp", "asp"));
  EXPECT_DOUBLE_EQ(ranked[0].seconds_to_target.value_or(0), 10);
  EXPECT_EQ(ranked[0].reached, 2);
  EXPECT_DOUBLE_EQ(ranked[0].speed_up.value_or(0), 3);
  EXPECT_EQ(Conclusion(ranked, "asp"),
            "bsp reaches the target 3.00 times as soon as asp: use --paradigm "
            "bsp\n");
}

TEST(AdviceTest, WhoDoesNotReachTheTargetInHalfOfItsRunsNeverDoes) {
  const auto ranked = RankOptions(
      {{"asp", {Reached(5.0), Reached(std::nullopt), Reached(std::nullopt)}},
       {"bsp", {Reached(20.0), Reached(21.0), Reached(std::nullopt)}}},
      kWorkers, true);
  ASSERT_THAT(LabelsOf(ranked), ElementsAre("bsp", "asp"));
  EXPECT_FALSE(ranked[1].seconds_to_target.has_value());
  EXPECT_FALSE(ranked[0].speed_up.has_value());
  EXPECT_EQ(Conclusion(ranked, "asp"),
            "bsp reaches the target, and asp does not: use --paradigm bsp\n");
  const Json document = AdviceJson(ranked, "asp");
  EXPECT_EQ(document["advised"], "bsp");
  EXPECT_TRUE(document["options"][1]["seconds_to_target"].is_null());
}

TEST(AdviceTest, NobodyReachesTheTarget) {
  const auto ranked = RankOptions(
      {{"bsp", {Reached(std::nullopt)}}, {"cgp", {Reached(std::nullopt)}}},
      kWorkers, true);
  EXPECT_EQ(Conclusion(ranked, "bsp"), "No paradigm reaches the target.\n");
  EXPECT_TRUE(AdviceJson(ranked, "bsp")["advised"].is_null());
}

TEST(AdviceTest, TheTable) {
  EXPECT_EQ(
      AdviceTable(RankOptions({{"bsp", {Ran(1000), Ran(1100)}},
                               {"cgp", {Ran(2000), Ran(2000)}}},
                              kWorkers, false),
                  "bsp"),
      "PARADIGM            SAMPLES/S  STALENESS  BESIDE bsp\n"
      "cgp                     200.0       0.00       1.90x\n"
      "bsp       105.0 (100.0-110.0)       0.00       1.00x\n"
      "(samples a second in virtual time, and what staleness may cost taken "
      "off. --train measures that cost)\n");
}

}  // namespace
}  // namespace paceline
