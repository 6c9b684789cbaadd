#include "services/cli/compare/run_compare.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/json_fields.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

CompareFlags Tiny() {
  CompareFlags flags;
  flags.iteration_times = "1,1,1,4";
  flags.train = "logreg";
  flags.data = "synthetic:tiny";
  flags.eval_every = 64;
  flags.repeat = 2;
  flags.paradigms = {"bsp", "asp"};
  return flags;
}

absl::Time Never() { return absl::UnixEpoch(); }

std::string Text(const CompareFlags& flags) {
  const auto output = RunCompare(flags, "", nullptr, Never);
  EXPECT_TRUE(output.ok()) << output.status();
  if (!output.ok()) return "";
  EXPECT_TRUE(output->status.ok()) << output->status;
  return output->text;
}

std::string Refused(const CompareFlags& flags) {
  const auto output = RunCompare(flags, "", nullptr, Never);
  EXPECT_TRUE(absl::IsInvalidArgument(output.status())) << output.status();
  return std::string(output.status().message());
}

TEST(ProgressOfTest, TheRestTakesAsLongAsWhatHasEnded) {
  const struct {
    size_t ended;
    size_t all;
    absl::Duration elapsed;
    std::string text;
  } cases[] = {
      {1, 48, absl::Seconds(15), "1/48, about 11m45s left"},
      {3, 4, absl::Seconds(3.5), "3/4, about 2s left"},
      {4, 4, absl::Seconds(9), "4/4, about 0 left"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(ProgressOf(each.ended, each.all, each.elapsed), each.text);
  }
}

TEST(RunCompareTest, EverySettingHasItsRuns) {
  CompareFlags flags = Tiny();
  flags.rates = {0.05, 0.001};
  flags.momenta = {"0", "0.9"};
  flags.output = "json";
  const Json document = Json::parse(Text(flags));
  EXPECT_THAT(document["rules"], SizeIs(2));
  EXPECT_THAT(document["tried"], SizeIs(8));
  EXPECT_THAT(document["runs"], SizeIs(16));
  for (const Json& tried : document["tried"]) EXPECT_EQ(tried["runs"], 2);
  // By turns, and what is told of a run is what it ran with.
  const Json& last = document["runs"][15];
  EXPECT_EQ(last["paradigm"], "asp");
  EXPECT_EQ(last["seed"], 2);
  EXPECT_EQ(last["learning_rate"], 0.001);
  EXPECT_EQ(last["momentum"], 0.9);
  // Rate and momentum have an effect, and the seed has.
  const auto curve = [&](size_t run) {
    return document["runs"][run]["accuracy"];
  };
  EXPECT_NE(curve(0), curve(1));
  EXPECT_NE(curve(0), curve(2));
  EXPECT_NE(curve(0), curve(8));
}

TEST(RunCompareTest, ARunIsThatOfSimulate) {
  CompareFlags flags = Tiny();
  flags.rates = {0.05};
  flags.momenta = {"0.5"};
  flags.output = "json";
  const Json compared = Json::parse(Text(flags));
  SimulateFlags same = flags;
  same.learning_rate = 0.05;
  same.optimizer = "sgd:momentum=0.5";
  const auto simulated = RunSimulate(same, "", nullptr);
  ASSERT_TRUE(simulated.ok()) << simulated.status();
  const Json document = Json::parse(simulated->text);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(compared["runs"][i]["accuracy"], document["runs"][i]["accuracy"]);
    EXPECT_EQ(compared["runs"][i]["workers"], document["runs"][i]["workers"]);
  }
}

TEST(RunCompareTest, ForPeopleItIsATable) {
  CompareFlags flags = Tiny();
  flags.target_accuracy = {0.2};
  EXPECT_THAT(Text(flags), StartsWith("PARADIGM"));
}

TEST(RunCompareTest, WithoutAParadigmThereAreEight) {
  CompareFlags flags = Tiny();
  flags.paradigms = {};
  flags.repeat = 1;
  flags.output = "json";
  EXPECT_THAT(Json::parse(Text(flags))["rules"], SizeIs(8));
}

TEST(RunCompareTest, ProgressSaysWhatIsLeft) {
  std::vector<std::string> lines;
  absl::Time time = absl::UnixEpoch();
  const auto output = RunCompare(
      Tiny(), "", [&](absl::string_view line) { lines.emplace_back(line); },
      [&] { return time += absl::Seconds(1); });
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines[0],
            "4 runs: 2 rules, 1 setting of rate and momentum, 2 seeds");
  EXPECT_THAT(lines[2], StartsWith("2/4, about 2s left: ["));
  EXPECT_THAT(lines[4], HasSubstr("(rate 0.005, momentum 0.9, seed "));
}

TEST(RunCompareTest, WhatIsWrongIsNamed) {
  const auto refused = [](auto change) {
    CompareFlags flags = Tiny();
    change(flags);
    return Refused(flags);
  };
  EXPECT_THAT(refused([](CompareFlags& flags) { flags.train = ""; }),
              HasSubstr("--train: "));
  EXPECT_THAT(refused([](CompareFlags& flags) {
                flags.target_accuracy = {0.5, 0.6};
              }),
              HasSubstr("--target-accuracy: rules are compared"));
  EXPECT_THAT(refused([](CompareFlags& flags) {
                flags.rates = {0.1};
                flags.learning_rate = 0.2;
              }),
              HasSubstr("--rates contradicts --learning-rate"));
  EXPECT_THAT(refused([](CompareFlags& flags) { flags.rates = {-1}; }),
              HasSubstr("--rates -1: "));
  EXPECT_THAT(refused([](CompareFlags& flags) { flags.momenta = {"2"}; }),
              HasSubstr("--momenta 2"));
  EXPECT_THAT(refused([](CompareFlags& flags) { flags.at_time = "soon"; }),
              HasSubstr("--at-time"));
  EXPECT_THAT(refused([](CompareFlags& flags) {
                flags.rates = {0.1, 0.2, 0.3};
                flags.momenta = {"0", "0.9"};
                flags.repeat = 100;
              }),
              HasSubstr("make 1200 runs; at most 1000"));
}

}  // namespace
}  // namespace paceline
