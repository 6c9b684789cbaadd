// `paceline local --program` with real agents and programs in Python.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "services/cli/run_simulate.h"
#include "services/cli/trace_file.h"
#include "tests/common/test_paths.h"
#include "tests/integration/local_command.h"

namespace paceline {
namespace {

using testing::HasSubstr;

using Arguments = std::vector<std::string>;

const std::string kLineProgram =
    "python3 " + TestDataPath("programs/line_program.py");
constexpr int kTrainSamples = 512;  // Of it.

// Two programs that fit a line, called `token` in the list of processes.
Arguments Line(const Arguments& more, const std::string& token = "") {
  Arguments all = {"--program",       absl::StrCat(kLineProgram, " ", token),
                   "--workers",       "2",
                   "--servers",       "1",
                   "--batch-size",    "16",
                   "--optimizer",     "sgd",
                   "--learning-rate", "0.1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The processes that have `token` among their words.
std::vector<pid_t> ProcessesWith(const std::string& token) {
  std::vector<pid_t> pids;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string words((std::istreambuf_iterator<char>(file)), {});
    const std::string name = entry.path().filename();
    if (words.find(token) == std::string::npos) continue;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    pids.push_back(std::stoi(name));
  }
  return pids;
}

TEST(LocalProgramTest, TrainsUnderEveryParadigmThatIsCompared) {
  LocalCommand command(Line({"--epochs", "4", "--paradigm", "bsp", "--paradigm",
                             "asp", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json runs = command.document()["runs"];
  ASSERT_EQ(runs.size(), 2);
  for (const nlohmann::json& run : runs) {
    EXPECT_EQ(run["samples"], 4 * kTrainSamples);
    EXPECT_EQ(run["pushes"], 4 * kTrainSamples / 16);
    EXPECT_TRUE(run["final_accuracy"].is_null()) << "it has none";
    EXPECT_LT(run["final_metrics"]["worst"], 0.1);
    EXPECT_LT(run["accuracy"].back()["loss"], 0.01);
    EXPECT_EQ(run["workers"].size(), 2);
  }
}

// Without any flag, as for a person's first script.
TEST(LocalProgramTest, TrainsAsTheScriptSays) {
  LocalCommand command({"--program", kLineProgram, "--argument",
                        "optimizer=adam:beta1=0.8", "--argument", "rate=0.25",
                        "--workers", "2", "--epochs", "2", "--switch-at",
                        "50%=asp", "-o", "json"});
  ASSERT_EQ(command.Wait(), 0) << command.err();
  EXPECT_THAT(command.err(),
              HasSubstr("--optimizer adam:beta1=0.8 --learning-rate 0.25\n"));
  const nlohmann::json run = command.document()["runs"][0];
  EXPECT_EQ(run["samples"], 2 * kTrainSamples);
  ASSERT_EQ(run["switches"].size(), 1);
  EXPECT_GE(run["switches"][0]["samples"], kTrainSamples);
}

TEST(LocalProgramTest, PrintsTheTableWithTheLoss) {
  LocalCommand command(Line({"--slowdown", "1,4", "--step-time", "2ms"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  EXPECT_THAT(command.out(),
              HasSubstr("PARADIGM  SECONDS    LOSS   WORST  TO TARGET"));
  EXPECT_THAT(command.out(), HasSubstr("\n  w1 "));
}

TEST(LocalProgramTest, StopsAtTheTargetOfItsOwnMetric) {
  LocalCommand command(
      Line({"--epochs", "10000", "--eval-every", "256", "--target",
            "worst<=0.01", "--stop-at-target", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json run = command.document()["runs"][0];
  EXPECT_LT(run["samples"], 10'000 * kTrainSamples);
  EXPECT_LE(run["final_metrics"]["worst"], 0.01);
  EXPECT_TRUE(run["seconds_to_target"].is_number());
}

// Each iteration in flight has a program of its own.
TEST(LocalProgramTest, SeveralIterationsAreInFlight) {
  LocalCommand command(
      Line({"--epochs", "4", "--in-flight", "2", "--paradigm", "asp",
            "--paradigm", "bsp:steal=true", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json runs = command.document()["runs"];
  for (const nlohmann::json& run : runs) {
    EXPECT_EQ(run["samples"], 4 * kTrainSamples);
    EXPECT_EQ(run["workers"].size(), 4);
    EXPECT_LT(run["accuracy"].back()["loss"], 0.01);
  }
}

TEST(LocalProgramTest, AnExceptionIsShownAsItWasPrinted) {
  LocalCommand command(Line({"--argument", "trouble=exception"}));
  const int code = command.Wait();
  EXPECT_GT(code, 0);
  EXPECT_LT(code, 128);
  EXPECT_THAT(command.err(), HasSubstr(".program.log ends with:\n"));
  EXPECT_THAT(command.err(),
              HasSubstr("\n  | ValueError: the third step is cursed\n"));
  EXPECT_THAT(command.err(),
              HasSubstr("in step 3: ValueError: the third step is cursed; "));
}

TEST(LocalProgramTest, AKilledProgramCostsNoSample) {
  LocalCommand command(Line({"--argument", "trouble=kill", "--paradigm", "asp",
                             "--epochs", "2", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  EXPECT_EQ(command.document()["runs"][0]["samples"], 2 * kTrainSamples);
  EXPECT_THAT(command.err(), HasSubstr("exited with 137"));
}

TEST(LocalProgramTest, ACommandThatIsNotThereIsNamed) {
  LocalCommand command({"--program", "no-such-command-anywhere", "--workers",
                        "1", "--servers", "1"});
  const int code = command.Wait();
  EXPECT_GT(code, 0);
  EXPECT_LT(code, 128);
  EXPECT_THAT(command.err(), HasSubstr("no-such-command-anywhere"));
  EXPECT_THAT(command.err(), HasSubstr("127"));
}

TEST(LocalProgramTest, RecordsATraceThatASimulationReplays) {
  const std::string path = absl::StrCat(testing::TempDir(), "/program.jsonl");
  LocalCommand command(
      Line({"--paradigm", "asp", "--step-time", "5ms", "--slowdown", "1,4",
            "--record", path, "--no-eval", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json real = command.document()["runs"][0];
  EXPECT_TRUE(real["accuracy"].empty());
  const auto trace = ReadTraceFile(path, 16);
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(trace->at(i).iterations->size(),
              real["workers"][i]["iterations"].get<size_t>());
  }
  SimulateFlags flags;
  flags.trace = path;
  flags.batch_size = 16;
  flags.samples = kTrainSamples;
  flags.paradigms = {"bsp"};
  flags.output = "json";
  const auto output = RunSimulate(flags, "", nullptr);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(nlohmann::json::parse(output->text)["runs"][0]["pushes"],
            real["pushes"]);
}

// `signal` in the middle of a run ends the command, its agents and their
// programs.
void ExpectCleanEnd(int signal, int code) {
  const std::string token = absl::StrCat("token-", getpid(), "-", signal);
  LocalCommand command(
      Line({"--epochs", "100000", "--step-time", "20ms"}, token));
  ASSERT_TRUE(command.AwaitLine("samples an epoch"));
  std::vector<pid_t> pids = command.Pids();
  ASSERT_EQ(pids.size(), 5);  // Coordinator, server, two agents, evaluator.
  const std::vector<pid_t> programs = ProcessesWith(token);
  // Those that name it for others do so, too: agents and the command.
  ASSERT_GE(programs.size(), 2 + 3 + 1);
  pids.insert(pids.end(), programs.begin(), programs.end());
  kill(command.pid(), signal);
  EXPECT_EQ(command.Wait(), code) << command.err();
  const Clock& clock = Clock::Real();
  const absl::Time deadline = clock.Now() + absl::Seconds(30);
  for (const pid_t pid : pids) {
    while (!Gone(pid) && clock.Now() < deadline) sched_yield();
    EXPECT_TRUE(Gone(pid)) << "pid " << pid;
  }
}

TEST(LocalProgramTest, LeavesNothingRunningOnCtrlC) {
  ExpectCleanEnd(SIGINT, 130);
}

TEST(LocalProgramTest, LeavesNothingRunningOnItsOwnDeath) {
  ExpectCleanEnd(SIGKILL, 128 + SIGKILL);
}

}  // namespace
}  // namespace paceline
