#include "services/cli/compare/comparison.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/compare/median_curve.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A run of 100 samples a second, with an evaluation half of its way. Without
// `to_target` it never got there.
Json Ran(std::optional<double> to_target, double accuracy,
         double seconds = 10) {
  Json run = {{"seconds", seconds},
              {"samples", 100 * seconds},
              {"final_accuracy", accuracy},
              {"target", "accuracy>=0.9"},
              {"seconds_to_target",
               to_target.has_value() ? Json(*to_target) : Json(nullptr)},
              {"waiting_share", 0.25},
              {"staleness", {{"p50", 1}, {"p99", 4}, {"max", 5}}}};
  run["accuracy"] = {{{"seconds", seconds / 2},
                      {"samples", 50 * seconds},
                      {"accuracy", accuracy / 2},
                      {"loss", 2}},
                     {{"seconds", seconds},
                      {"samples", 100 * seconds},
                      {"accuracy", accuracy},
                      {"loss", 1}}};
  return run;
}

TriedRule Tried(const std::string& label, double rate,
                const std::vector<Json>& runs) {
  return {.learning_rate = rate,
          .momentum = "0.9",
          .runs = {.label = label, .runs = runs}};
}

TEST(BestOfTest, IsTheSoonestOrElseTheMostAccurate) {
  using Times = std::vector<std::optional<double>>;
  const struct {
    std::string name;
    std::vector<Times> to_target;  // Of each point, by seed.
    std::vector<double> accuracy;  // Of each point.
    size_t best;
  } cases[] = {
      {"the sooner one", {{8, 9, 9}, {5, 6, 7}}, {0.9, 0.8}, 1},
      {"the median counts", {{1, 9, 9}, {8, 8, 8}}, {0.9, 0.9}, 1},
      {"most runs count, not all",
       {{8, 9, 9}, {1, 2, std::nullopt}},
       {0.9, 0.9},
       1},
      {"one run is not most",
       {{8, 9, 9}, {1, std::nullopt, std::nullopt}},
       {0.8, 0.9},
       0},
      {"half is not most", {{8, 9}, {1, std::nullopt}}, {0.8, 0.9}, 0},
      {"none is there: the more accurate one",
       {{std::nullopt, 1, std::nullopt},
        {std::nullopt, std::nullopt, std::nullopt}},
       {0.8, 0.85},
       1},
      {"of equals the first", {{5, 5}, {5, 5}}, {0.8, 0.9}, 0},
  };
  for (const auto& each : cases) {
    std::vector<TriedRule> tried;
    for (size_t i = 0; i < each.to_target.size(); ++i) {
      std::vector<Json> runs;
      for (const auto& seconds : each.to_target[i]) {
        runs.push_back(Ran(seconds, each.accuracy[i]));
      }
      tried.push_back(Tried("asp", 0.1, runs));
    }
    EXPECT_EQ(BestOf(tried), each.best) << each.name;
  }
}

// Two rules at two rates. bsp is best at 0.1, asp at 0.2.
std::vector<TriedRule> TwoRules() {
  return {Tried("bsp", 0.1, {Ran(8, 0.9, 20), Ran(9, 0.8, 20)}),
          Tried("bsp", 0.2, {Ran(9, 0.9, 20), Ran(9, 0.9, 20)}),
          Tried("asp", 0.1, {Ran(std::nullopt, 0.7), Ran(5, 0.7)}),
          Tried("asp", 0.2, {Ran(4, 0.8), Ran(6, 0.7)})};
}

TEST(CompareTest, EachRuleIsAtItsBest) {
  const Comparison comparison = Compare(TwoRules(), 2, std::nullopt);
  EXPECT_THAT(comparison.chosen, ElementsAre(0, 3));
  // The median of asp is the first to be there.
  EXPECT_EQ(comparison.equal_seconds, 5);
  EXPECT_TRUE(comparison.is_time_of_target);
  EXPECT_EQ(comparison.equal_samples, 1000);
  EXPECT_FALSE(comparison.all_at_equal_samples);
  const TriedRule& bsp = comparison.tried[0];
  const TriedRule& asp = comparison.tried[3];
  // Nothing of bsp is evaluated until then.
  EXPECT_FALSE(AccuracyAtTime(comparison, bsp).has_value());
  EXPECT_DOUBLE_EQ(AccuracyAtTime(comparison, asp)->max, 0.4);
  EXPECT_DOUBLE_EQ(AccuracyAtSamples(comparison, bsp)->median, 0.425);
  EXPECT_DOUBLE_EQ(AccuracyAtSamples(comparison, asp)->median, 0.75);
}

TEST(CompareTest, TheTimeMayBeAskedFor) {
  const Comparison comparison = Compare(TwoRules(), 2, 10.0);
  EXPECT_EQ(comparison.equal_seconds, 10);
  EXPECT_FALSE(comparison.is_time_of_target);
  EXPECT_DOUBLE_EQ(AccuracyAtTime(comparison, comparison.tried[0])->max, 0.45);
}

TEST(CompareTest, WithoutATargetItIsWhenTheFirstRunEnded) {
  const Comparison comparison =
      Compare({Tried("bsp", 0.1, {Ran(std::nullopt, 0.9, 30)}),
               Tried("asp", 0.1, {Ran(std::nullopt, 0.8, 12)})},
              1, std::nullopt);
  EXPECT_EQ(comparison.equal_seconds, 12);
  EXPECT_FALSE(comparison.is_time_of_target);
}

TEST(CompareTest, WhatHasNoRunIsLeftOut) {
  const Comparison comparison =
      Compare({Tried("bsp", 0.1, {}), Tried("bsp", 0.2, {}),
               Tried("asp", 0.1, {}), Tried("asp", 0.2, {Ran(5, 0.9)})},
              2, std::nullopt);
  ASSERT_THAT(comparison.chosen, ElementsAre(0));
  EXPECT_EQ(comparison.tried[0].runs.label, "asp");
  EXPECT_EQ(comparison.tried[0].learning_rate, 0.2);
  const Comparison none = Compare({Tried("bsp", 0.1, {})}, 1, std::nullopt);
  EXPECT_EQ(ComparisonText(none), "");
  EXPECT_TRUE(ComparisonJson(none)["rules"].empty());
}

TEST(ComparisonTextTest, IsATableAndWhatItSays) {
  const std::string text = ComparisonText(Compare(TwoRules(), 2, std::nullopt));
  EXPECT_THAT(text, StartsWith("PARADIGM  RATE  MOMENTUM      TO TARGET  "
                               "REACHED                  AT 5 S         "
                               "AT 1000 SAMPLES"));
  EXPECT_THAT(text, HasSubstr("5.0 (4.0-6.0)      2/2"));
  EXPECT_THAT(text, HasSubstr("25.0        1/4\n"));
  EXPECT_THAT(text, HasSubstr("2/2                       -  "))
      << "bsp was not evaluated until then";
  EXPECT_THAT(text, HasSubstr("(medians of 2 seeds;"));
  EXPECT_THAT(text, HasSubstr("when the first rule reached the target"));
  EXPECT_THAT(text, HasSubstr("asp reached the target accuracy 1.70x as soon "
                              "as bsp: after 5.00 s instead of 8.50 s."));
  EXPECT_THAT(text, HasSubstr("The best rate is the lowest of --rates for: "
                              "bsp.\n"));
  EXPECT_THAT(text, HasSubstr("The best rate is the highest of --rates for: "
                              "asp.\n"));
  EXPECT_THAT(text, Not(HasSubstr("chance")));
}

TEST(ComparisonTextTest, RangesThatOverlapAreChance) {
  const std::string text =
      ComparisonText(Compare({Tried("bsp", 0.1, {Ran(5, 0.9), Ran(9, 0.8)}),
                              Tried("asp", 0.1, {Ran(4, 0.9), Ran(6, 0.8)}),
                              Tried("cgp", 0.1, {Ran(7, 0.9), Ran(8, 0.8)})},
                             1, std::nullopt));
  EXPECT_THAT(text, HasSubstr("Whether asp is sooner than these may be chance, "
                              "for their runs overlap: bsp.\n"));
  EXPECT_THAT(text, Not(HasSubstr("The best rate")));
}

TEST(ComparisonTextTest, WithoutATargetTheAccuracyDecides) {
  const auto text = [](bool has_target) {
    Json bsp = Ran(std::nullopt, 0.9, 20);
    Json asp = Ran(std::nullopt, 0.8, 10);
    if (!has_target) {
      bsp.erase("target");
      asp.erase("target");
    }
    return ComparisonText(Compare(
        {Tried("bsp", 0.1, {bsp}), Tried("asp", 0.1, {asp})}, 1, std::nullopt));
  };
  const std::string sentence =
      "After 10 s asp has the highest accuracy, 0.8000; at the end bsp, "
      "0.9000.\n";
  EXPECT_THAT(text(false), Not(HasSubstr("TO TARGET")));
  EXPECT_THAT(text(false), HasSubstr("\n\n" + sentence));
  EXPECT_THAT(text(true), HasSubstr("never      0/1"));
  EXPECT_THAT(text(true), HasSubstr("\n\nNo rule reached the target in most of "
                                    "its runs.\n" +
                                    sentence));
}

TEST(ComparisonJsonTest, HasTheRulesAndAllThatWasTried) {
  const Json document = ComparisonJson(Compare(TwoRules(), 2, std::nullopt));
  EXPECT_EQ(document["equal_seconds"], 5);
  ASSERT_EQ(document["rules"].size(), 2);
  const Json& asp = document["rules"][1];
  EXPECT_EQ(asp["paradigm"], "asp");
  EXPECT_EQ(asp["learning_rate"], 0.2);
  EXPECT_EQ(asp["momentum"], 0.9);
  EXPECT_EQ(asp["reached"], 2);
  EXPECT_EQ(asp["seconds_to_target"]["median"], 5);
  EXPECT_EQ(asp["accuracy_at_equal_seconds"]["max"], 0.4);
  EXPECT_TRUE(document["rules"][0]["accuracy_at_equal_seconds"].is_null());
  EXPECT_EQ(asp["staleness"]["p99"]["median"], 4);
  ASSERT_EQ(document["tried"].size(), 4);
  EXPECT_FALSE(document["tried"][2]["chosen"]);
  EXPECT_TRUE(document["tried"][3]["chosen"]);
  EXPECT_TRUE(document["tried"][2]["seconds_to_target"]["median"].is_null());
}

TEST(MedianCurveTest, HasTheMiddleAndTheRange) {
  const Json curve = MedianCurve(
      {.label = "asp",
       .runs = {Ran(1, 0.6, 10), Ran(1, 0.8, 12), Ran(1, 0.9, 14)}});
  ASSERT_EQ(curve.size(), 2);
  EXPECT_EQ(curve[1]["seconds"], 12);
  EXPECT_EQ(curve[1]["samples"], 1200);
  EXPECT_EQ(curve[1]["accuracy"], 0.8);
  EXPECT_EQ(curve[1]["range"]["accuracy"], Json::parse("[0.6, 0.9]"));
}

TEST(MedianCurveTest, EndsWithTheFirstRunAndHasNoRangeOfOne) {
  Json shorter = Ran(1, 0.6);
  shorter["accuracy"].erase(1);
  EXPECT_EQ(
      MedianCurve({.label = "asp", .runs = {shorter, Ran(1, 0.8)}}).size(), 1);
  const Json alone = MedianCurve({.label = "asp", .runs = {Ran(1, 0.8)}});
  EXPECT_EQ(alone.size(), 2);
  EXPECT_FALSE(alone[0].contains("range"));
  EXPECT_TRUE(MedianCurve({.label = "asp", .runs = {}}).empty());
}

TEST(MedianCurveTest, APageHasTheFiguresOfAllSeeds) {
  Json drawn = Ran(4, 0.8);
  drawn["targets"] = {{{"accuracy", 0.5}, {"seconds", 4}}};
  const ComparedRuns runs = {.label = "asp",
                             .runs = {Ran(4, 0.8), Ran(6, 0.6), Ran(7, 0.7)}};
  const Json shown = DrawnRule(drawn, runs);
  EXPECT_EQ(shown["seconds_to_target"], 6);
  EXPECT_EQ(shown["targets"][0]["seconds"], 6);
  EXPECT_EQ(shown["final_accuracy"], 0.7);
  EXPECT_EQ(shown["accuracy"][0]["range"]["accuracy"],
            Json::parse("[0.3, 0.4]"));
}

}  // namespace
}  // namespace paceline
