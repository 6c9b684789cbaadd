#include "services/cli/run_advise.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/json_fields.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

AdviseFlags OneFourTimesSlower() {
  AdviseFlags flags;
  flags.iteration_times = "1,1,1,4";
  flags.samples = 8192;
  flags.repeat = 2;
  return flags;
}

Json Document(AdviseFlags flags) {
  flags.output = "json";
  const auto output = RunAdvise(flags, "", nullptr);
  EXPECT_TRUE(output.ok()) << output.status();
  if (!output.ok()) return {};
  EXPECT_TRUE(output->status.ok()) << output->status;
  return Json::parse(output->text);
}

std::string Refused(const AdviseFlags& flags) {
  const auto output = RunAdvise(flags, "", nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(output.status())) << output.status();
  return std::string(output.status().message());
}

TEST(RunAdviseTest, WhoeverIsSlowForGoodIsNotWaitedFor) {
  const Json document = Document(OneFourTimesSlower());
  EXPECT_EQ(document["compared_with"], "bsp");
  EXPECT_EQ(document["advised"], "bsp:steal=true");
  // Four workers' work in the time of the slowest, or 3.25 of the fast ones.
  const Json& best = document["options"][0];
  EXPECT_GT(NumberField(best, "speed_up").value_or(0), 2.8);
  EXPECT_LT(NumberField(best, "speed_up").value_or(0), 3.3);
  EXPECT_EQ(best["runs"], 2);
}

TEST(RunAdviseTest, EqualWorkersNeedNothing) {
  AdviseFlags flags = OneFourTimesSlower();
  flags.iteration_times = "1s";
  EXPECT_EQ(Document(flags)["advised"], "bsp");
}

TEST(RunAdviseTest, ATraceSaysHowManyWorkersThereAre) {
  const TestFolder folder;
  AdviseFlags flags = OneFourTimesSlower();
  flags.iteration_times = "";
  flags.trace = folder.Path("times.jsonl");
  std::ofstream(flags.trace) << R"({"worker":"w0","compute":0.02,"samples":32})"
                             << "\n"
                             << R"({"worker":"w1","compute":0.02,"samples":32})"
                             << "\n"
                             << R"({"worker":"w2","compute":0.06,"samples":32})"
                             << "\n";
  const Json document = Document(flags);
  EXPECT_NE(document["advised"], "bsp");
  // ParadigmsFor(3).
  bool half = false;
  bool balanced = false;
  for (const Json& option : document["options"]) {
    half |= option["paradigm"] == "kbatchsync:k=1";
    balanced |= option["paradigm"] == "bsp,batching=balanced";
  }
  EXPECT_TRUE(half);
  EXPECT_TRUE(balanced);
}

TEST(RunAdviseTest, ParadigmsThatAreGivenAreTheOnlyOnes) {
  AdviseFlags flags = OneFourTimesSlower();
  flags.paradigms = {"ssp:s=3", "asp"};
  const Json document = Document(flags);
  EXPECT_EQ(document["options"].size(), 2);
  EXPECT_EQ(document["compared_with"], "ssp:s=3");
}

TEST(RunAdviseTest, SeedsMakeASpread) {
  AdviseFlags flags = OneFourTimesSlower();
  flags.jitter = {"exponential"};
  flags.lease = "10m";
  flags.repeat = 3;
  flags.paradigms = {"bsp"};
  const Json rate = Document(flags)["options"][0]["samples_per_second"];
  EXPECT_LT(rate["min"], rate["median"]);
  EXPECT_LT(rate["median"], rate["max"]);
}

TEST(RunAdviseTest, WhatIsTrainedIsRankedByTheTimeToATarget) {
  AdviseFlags flags = OneFourTimesSlower();
  flags.samples = 0;
  flags.train = "mlp";
  EXPECT_THAT(Refused(flags), HasSubstr("--target-accuracy"));
  flags.learning_rate = 0.02;
  flags.target_accuracy = {0.7};
  flags.stop_at_target = true;
  flags.paradigms = {"bsp", "bsp:steal=true"};
  const Json document = Document(flags);
  EXPECT_EQ(document["advised"], "bsp:steal=true");
  EXPECT_EQ(document["options"][0]["reached"], 2);
  EXPECT_GT(NumberField(document["options"][0], "speed_up").value_or(0), 1.5);
}

TEST(RunAdviseTest, ForPeopleItEndsWithTheFlag) {
  const auto output = RunAdvise(OneFourTimesSlower(), "", nullptr);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_THAT(output->text, StartsWith("PARADIGM"));
  EXPECT_THAT(output->text, EndsWith(": use --paradigm bsp:steal=true\n"));
}

TEST(RunAdviseTest, WrongFlags) {
  AdviseFlags flags = OneFourTimesSlower();
  flags.repeat = 0;
  EXPECT_THAT(Refused(flags), HasSubstr("--repeat"));
  flags.repeat = 2;
  flags.paradigms = {"bps"};
  EXPECT_THAT(Refused(flags), HasSubstr("--paradigm bps"));
  flags = OneFourTimesSlower();
  flags.target_accuracy = {0.7, 0.8};
  EXPECT_THAT(Refused(flags), HasSubstr("ranked by the time to one target"));
}

}  // namespace
}  // namespace paceline
