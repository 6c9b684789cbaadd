#include "services/cli/run_simulate.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/json_fields.h"
#include "services/cli/plot/plot_page.h"
#include "services/cli/results_table.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

SimulateOutput Output(const SimulateFlags& flags) {
  const absl::StatusOr<SimulateOutput> output = RunSimulate(flags, "", nullptr);
  EXPECT_TRUE(output.ok()) << output.status();
  return output.value_or(SimulateOutput());
}

SimulateFlags OneSlow() {
  SimulateFlags flags;
  flags.iteration_times = "1,1,1,2.5";
  flags.duration = "600s";
  flags.paradigms = {"bsp", "ssp:s=3"};
  return flags;
}

TEST(RunSimulateTest, TheTable) {
  EXPECT_EQ(Output(OneSlow()).text,
            "PARADIGM  VIRTUAL S  PUSHES  UPDATES  SAMPLES/S  WAITING    GAP  "
            "STALENESS  PUSHES BY WORKER\n"
            "bsp          600.00     960      240       51.2    45.0%  1/1/1  "
            "    0/0/0   240/240/240/240\n"
            "ssp:s=3      600.00     969      969       51.7    44.6%  4/4/4  "
            "    2/3/9   243/243/243/240\n"
            "(gap and staleness: median/99th percentile/maximum)\n");
}

TEST(RunSimulateTest, SaysThatAnAutomaticKHasNoLossToFollow) {
  SimulateFlags flags = OneSlow();
  flags.paradigms = {"ksync:k=2", "ksync:k=auto"};
  const std::string text = Output(flags).text;
  EXPECT_THAT(text, HasSubstr("\nksync:k=auto: nothing was trained"));
  EXPECT_THAT(text, testing::Not(HasSubstr("ksync:k=2: nothing")));
}

// What the batching of one run brings must show beside the same paradigm
// without it.
TEST(RunSimulateTest, ComparesAParadigmUnderTwoBatchings) {
  SimulateFlags flags = OneSlow();
  flags.paradigms = {"bsp", "bsp,batching=balanced"};
  flags.output = "json";
  const Json runs = Json::parse(Output(flags).text)["runs"];
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0]["paradigm"], "bsp");
  EXPECT_EQ(runs[1]["paradigm"], "bsp,batching=balanced");
  const double even = NumberField(runs[0], "samples").value_or(0);
  const double balanced = NumberField(runs[1], "samples").value_or(0);
  EXPECT_GT(balanced, 1.5 * even);
  // The one that has --batching's.
  flags.paradigms = {"bsp"};
  flags.batching = "balanced";
  const Json same = Json::parse(Output(flags).text)["runs"];
  EXPECT_EQ(NumberField(same[0], "samples").value_or(0), balanced);
}

TEST(RunSimulateTest, DrawsAPage) {
  if (EChartsScript().front().empty()) {
    GTEST_SKIP() << "built without Apache ECharts";
  }
  SimulateFlags flags = OneSlow();
  const TestFolder folder;
  flags.plot = folder.Path("page.html");
  const auto output = RunSimulate(flags, "paceline simulate <b>", nullptr);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->text, Output(OneSlow()).text);
  std::ifstream file(flags.plot);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(page, HasSubstr("paceline simulate &lt;b&gt;"));
  EXPECT_THAT(page, HasSubstr("\"gap_histogram\":[["));
}

TEST(RunSimulateTest, SaysThatAPageCannotBeWrittenBeforeItRuns) {
  SimulateFlags flags = OneSlow();
  flags.plot = "/no/such/folder/page.html";
  const absl::Status status = RunSimulate(flags, "", nullptr).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST(RunSimulateTest, TrainsAndNotesEachRun) {
  SimulateFlags flags;
  flags.iteration_times = "1,4";
  flags.train = "logreg";
  flags.data = "synthetic:tiny";
  flags.target_accuracy = {0.05};
  flags.paradigms = {"bsp", "asp"};
  std::vector<std::string> notes;
  const auto output = RunSimulate(
      flags, "", [&](absl::string_view line) { notes.emplace_back(line); });
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_THAT(output->text, HasSubstr("ACCURACY  TO TARGET"));
  EXPECT_THAT(output->text, HasSubstr(" reached the target accuracy "));
  EXPECT_THAT(notes, SizeIs(2));
  EXPECT_THAT(notes, testing::Contains(HasSubstr("[asp] ")));
  EXPECT_EQ(output->text, Output(flags).text);  // The same on every run.
}

TEST(RunSimulateTest, NamesATargetThatIsNoAccuracy) {
  SimulateFlags flags;
  flags.iteration_times = "1,4";
  flags.train = "logreg";
  flags.data = "synthetic:tiny";
  flags.target = "loss<=1000";
  flags.paradigms = {"bsp", "asp"};
  EXPECT_THAT(Output(flags).text, HasSubstr(" reached loss<=1000 "));
  flags.output = "json";
  EXPECT_EQ(Json::parse(Output(flags).text)["runs"][0]["target"], "loss<=1000");
}

TEST(RunSimulateTest, MeasuresTheSecondsToEachTarget) {
  SimulateFlags flags;
  flags.iteration_times = "1,4";
  flags.train = "logreg";
  flags.data = "synthetic:tiny";
  flags.epochs = 3;
  flags.learning_rate = 0.02;
  flags.target_accuracy = {1, 0.14, 0.1};
  flags.paradigms = {"asp"};
  EXPECT_THAT(Output(flags).text, HasSubstr("ACCURACY  TO 0.1  TO 0.14  TO 1"));
  flags.output = "json";
  const Json run = Json::parse(Output(flags).text)["runs"][0];
  const Json& targets = run["targets"];
  ASSERT_EQ(targets.size(), 3);
  EXPECT_EQ(targets[0]["accuracy"], 0.1);
  EXPECT_EQ(targets[0]["seconds"], run["seconds_to_target"]);
  EXPECT_EQ(run["target"], "accuracy>=0.1");
  EXPECT_LT(targets[0]["seconds"], targets[1]["seconds"]);
  EXPECT_TRUE(targets[2]["seconds"].is_null());
  // Ends at the last, which a run with that target alone does, too.
  flags.target_accuracy = {0.1, 0.14};
  flags.stop_at_target = true;
  const Json both = Json::parse(Output(flags).text)["runs"][0];
  flags.target_accuracy = {0.14};
  const Json last = Json::parse(Output(flags).text)["runs"][0];
  EXPECT_EQ(both["seconds"], last["seconds"]);
  EXPECT_EQ(both["targets"][1]["seconds"], last["seconds_to_target"]);
  EXPECT_LT(both["samples"], run["samples"]);
}

TEST(RunSimulateTest, RepeatsEachParadigmWithSeedAfterSeed) {
  SimulateFlags flags = OneSlow();
  flags.jitter = {"normal:sd=0.1"};
  flags.repeat = 3;
  flags.seed = "5";
  const std::string table = Output(flags).text;
  EXPECT_THAT(table, HasSubstr("\nbsp          3     600.00  "));
  EXPECT_THAT(table, HasSubstr("(medians; "));
  flags.output = "json";
  const Json document = Json::parse(Output(flags).text);
  const Json& runs = document["runs"];
  ASSERT_EQ(runs.size(), 6);
  // By turns.
  EXPECT_EQ(runs[0]["paradigm"], "bsp");
  EXPECT_EQ(runs[1]["paradigm"], "ssp:s=3");
  EXPECT_EQ(runs[1]["seed"], 5);
  EXPECT_EQ(runs[2]["paradigm"], "bsp");
  EXPECT_EQ(runs[5]["seed"], 7);
  EXPECT_NE(runs[0]["samples"], runs[2]["samples"]);
  // Each is the run that its seed alone has.
  flags.repeat = 1;
  flags.seed = "6";
  Json alone = Json::parse(Output(flags).text)["runs"][0];
  alone["seed"] = 6;
  EXPECT_EQ(alone, runs[2]);
  ASSERT_EQ(document["summaries"].size(), 2);
  EXPECT_EQ(document["summaries"][0]["runs"], 3);
  EXPECT_EQ(document["summaries"][0]["seconds"]["median"], 600);
}

TEST(RunSimulateTest, ManyWorkersAreSummedUp) {
  SimulateFlags flags;
  flags.profile = "four-speeds";
  flags.workers = 12;
  flags.duration = "100s";
  flags.paradigms = {"asp"};
  EXPECT_THAT(Output(flags).text, HasSubstr("34..100\n"));
}

TEST(RunSimulateTest, SaysWhatHappenedOnTheWay) {
  SimulateFlags flags = OneSlow();
  flags.paradigms = {"bsp"};
  flags.crash = "2@100s";
  flags.switch_at = {"50%=asp"};
  EXPECT_THAT(
      Output(flags).text,
      testing::AllOf(
          HasSubstr("bsp: members lost, silent for a lease or stuck: 1"),
          HasSubstr("bsp: switched to asp after 300 s, settled in ")));
  flags.crash = "0@10s,1@10s,2@10s,3@10s";
  const SimulateOutput standstill = Output(flags);
  EXPECT_TRUE(absl::IsAborted(standstill.status));
  EXPECT_THAT(standstill.text, HasSubstr("bsp: could not go on"));
}

TEST(RunSimulateTest, TheDocumentHasTheShapeOfARealOne) {
  SimulateFlags flags = OneSlow();
  flags.output = "json";
  const SimulateOutput output = Output(flags);
  const Json document = Json::parse(output.text);
  ASSERT_THAT(document["runs"], SizeIs(2));
  const Json& run = document["runs"][1];
  EXPECT_EQ(run["paradigm"], "ssp:s=3");
  EXPECT_EQ(run["virtual"], true);
  EXPECT_EQ(run["seconds"], 600.0);
  EXPECT_EQ(run["pushes"], 969);
  EXPECT_EQ(run["samples"], 969 * 32);
  EXPECT_EQ(run["gap"]["max"], 4);
  // All that RunRecord::Result() writes.
  for (const char* field :
       {"paradigm", "seconds", "final_accuracy", "seconds_to_target", "samples",
        "samples_discarded", "pushes", "updates", "discarded", "refused_blocks",
        "push_bytes", "pull_bytes", "accuracy", "switches", "workers"}) {
    EXPECT_TRUE(run.contains(field)) << field;
  }
  const Json& worker = run["workers"][3];
  EXPECT_EQ(worker["worker"], "w3");
  EXPECT_EQ(worker["iterations"], 240);
  EXPECT_EQ(worker["seconds"]["compute"], 600.0);
  for (const char* field :
       {"samples", "samples_discarded", "longest_wait_seconds", "held",
        "held_not_fastest", "gap", "staleness"}) {
    EXPECT_TRUE(worker.contains(field)) << field;
  }
  EXPECT_THAT(ResultsTable({{"ssp:s=3", {run}}}), HasSubstr("ssp:s=3"));
}

TEST(RunSimulateTest, OneSeedGivesOneText) {
  SimulateFlags flags = OneSlow();
  flags.jitter = {"normal:sd=0.1"};
  flags.output = "json";
  const std::string first = Output(flags).text;
  EXPECT_EQ(Output(flags).text, first);
  flags.seed = "2";
  EXPECT_NE(Output(flags).text, first);
}

TEST(RunSimulateTest, WrongFlagsAreRefused) {
  SimulateFlags flags;
  flags.workers = -1;
  EXPECT_TRUE(
      absl::IsInvalidArgument(RunSimulate(flags, "", nullptr).status()));
}

}  // namespace
}  // namespace paceline
