#include "services/cli/compare/rate_grid.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "0.01/0.9" of each point.
std::vector<std::string> Planned(const std::vector<double>& rates,
                                 const std::vector<std::string>& momenta,
                                 const std::string& optimizer) {
  const auto grid = PlanGrid(rates, momenta, *ParseOptimizerSpec(optimizer));
  EXPECT_TRUE(grid.ok()) << grid.status();
  std::vector<std::string> texts;
  for (const GridPoint& point : grid.value_or(std::vector<GridPoint>())) {
    texts.push_back(absl::StrCat(point.learning_rate, "/", point.momentum));
  }
  return texts;
}

TEST(RateGridTest, IsEveryRateWithEveryMomentum) {
  EXPECT_THAT(Planned({0.01, 0.002}, {"0", "0.9", "auto"}, "sgd"),
              ElementsAre("0.01/0", "0.01/0.9", "0.01/auto", "0.002/0",
                          "0.002/0.9", "0.002/auto"));
}

TEST(RateGridTest, WithoutMomentaThereIsThatOfTheOptimizer) {
  EXPECT_THAT(Planned({0.01}, {}, "sgd:momentum=0.8"), ElementsAre("0.01/0.8"));
  EXPECT_THAT(Planned({0.01}, {}, "sgd"), ElementsAre("0.01/0"));
  EXPECT_THAT(Planned({0.01}, {}, "sgd:momentum=auto"),
              ElementsAre("0.01/auto"));
  EXPECT_THAT(Planned({0.01, 0.1}, {}, "adam"), ElementsAre("0.01/", "0.1/"));
}

TEST(RateGridTest, OnlyTheMomentumOfTheOptimizerChanges) {
  const OptimizerSpec optimizer =
      *ParseOptimizerSpec("sgd:momentum=0.9,weight_decay=5e-4");
  const auto grid = PlanGrid({0.1}, {"0.5", "auto"}, optimizer);
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ((*grid)[0].optimizer,
            *ParseOptimizerSpec("sgd:momentum=0.5,weight_decay=5e-4"));
  EXPECT_EQ((*grid)[1].optimizer,
            *ParseOptimizerSpec("sgd:momentum=auto,weight_decay=5e-4"));
}

TEST(RateGridTest, WhatIsWrongIsNamed) {
  const struct {
    std::vector<double> rates;
    std::vector<std::string> momenta;
    std::string optimizer;
    std::string message;
  } cases[] = {
      {{0}, {}, "sgd", "--rates 0: a rate must be above 0"},
      {{-1}, {}, "sgd", "--rates -1: a rate must be above 0"},
      {{1e9}, {}, "sgd", "at most 1e+06"},
      {{0.1, 0.2, 0.1}, {}, "sgd", "--rates 0.1: is there twice"},
      {{0.1}, {"1"}, "sgd", "--momenta 1"},
      {{0.1}, {"fast"}, "sgd", "--momenta fast"},
      {{0.1}, {"0.9", "0.90"}, "sgd", "--momenta 0.90: is there twice"},
      {{0.1}, {"0"}, "sgd:momentum=0.9,nesterov=true", "--momenta 0"},
      {{0.1}, {"0.9"}, "adam", "--momenta needs an --optimizer sgd"},
  };
  for (const auto& each : cases) {
    const auto grid =
        PlanGrid(each.rates, each.momenta, *ParseOptimizerSpec(each.optimizer));
    EXPECT_TRUE(absl::IsInvalidArgument(grid.status())) << each.message;
    EXPECT_THAT(std::string(grid.status().message()), HasSubstr(each.message));
  }
}

}  // namespace
}  // namespace paceline
