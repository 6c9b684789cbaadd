// `paceline local` with the real processes: its document, its refusals, and
// that nothing it started outlives it.

#include "tests/integration/local_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "services/cli/run_simulate.h"
#include "services/cli/trace_file.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using Arguments = std::vector<std::string>;

const Arguments kTiny = {
    "--data", "synthetic:tiny", "--model", "logreg", "--workers",
    "2",      "--servers",      "1"};

Arguments Tiny(const Arguments& more) {
  Arguments all = kTiny;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(LocalCommandTest, PrintsOneDocumentWithEveryParadigm) {
  LocalCommand command(Tiny({"--paradigm", "bsp", "--paradigm", "ssp:s=2",
                             "--target-accuracy", "0.05", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json runs = command.document()["runs"];
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0]["paradigm"], "bsp");
  EXPECT_EQ(runs[1]["paradigm"], "ssp:s=2");
  for (const nlohmann::json& run : runs) {
    for (const char* field :
         {"seconds", "final_accuracy", "seconds_to_target", "samples", "pushes",
          "updates", "discarded", "push_bytes", "pull_bytes"}) {
      EXPECT_TRUE(run[field].is_number()) << field << ": " << run[field];
    }
    EXPECT_EQ(run["samples"], 1024);
    EXPECT_EQ(run["workers"].size(), 2);
    for (const char* field :
         {"seconds", "version", "samples", "accuracy", "loss"}) {
      EXPECT_TRUE(run["accuracy"][0][field].is_number()) << field;
    }
    for (const char* field : {"load", "compute", "push", "wait", "pull"}) {
      EXPECT_TRUE(run["workers"][0]["seconds"][field].is_number()) << field;
    }
    for (const char* field : {"p50", "p99", "max"}) {
      EXPECT_TRUE(run["workers"][0]["gap"][field].is_number());
      EXPECT_TRUE(run["workers"][0]["staleness"][field].is_number());
    }
  }
  // Of each of the sixteen rounds one of the two was the first.
  EXPECT_EQ(runs[0]["workers"][0]["held"].get<int>() +
                runs[0]["workers"][1]["held"].get<int>(),
            16);
  // The same starting weights and the same first batches.
  EXPECT_EQ(runs[0]["push_bytes"], runs[1]["push_bytes"]);
}

TEST(LocalCommandTest, KeepsTheGapOfSspWithinItsBound) {
  LocalCommand command(
      Tiny({"--paradigm", "ssp:s=3", "--epochs", "4", "--step-time", "5ms",
            "--slowdown", "1,4", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json run = command.document()["runs"][0];
  for (const nlohmann::json& worker : run["workers"]) {
    EXPECT_LE(worker["gap"]["max"], 4);
  }
}

TEST(LocalCommandTest, StopsAtTheTarget) {
  LocalCommand command({"--data", "synthetic:tiny", "--model", "mlp",
                        "--workers", "2", "--servers", "1", "--epochs", "1000",
                        "--eval-every", "512", "--target-accuracy", "0.15",
                        "--stop-at-target", "-o", "json"});
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json run = command.document()["runs"][0];
  EXPECT_LT(run["samples"], 1024 * 1000);
  EXPECT_TRUE(run["seconds_to_target"].is_number());
}

TEST(LocalCommandTest, EndsAtMaxSeconds) {
  LocalCommand command(
      Tiny({"--epochs", "100000", "--max-seconds", "1", "--step-time", "5ms",
            "--defer-eval", "--eval-every", "100000", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json run = command.document()["runs"][0];
  EXPECT_GE(run["seconds"], 0.9);
  EXPECT_EQ(run["accuracy"].back()["samples"], run["samples"]);
}

TEST(LocalCommandTest, Int8TrainsAsWellWithAQuarterOfTheBytes) {
  for (const char* paradigm : {"bsp", "asp"}) {
    nlohmann::json runs[2];
    for (const bool narrow : {false, true}) {
      LocalCommand command({"--data", "synthetic:tiny", "--model", "mlp",
                            "--workers", "2", "--servers", "2", "--epochs", "3",
                            "--paradigm", paradigm, "--wire",
                            narrow ? "int8" : "fp32", "-o", "json"});
      ASSERT_EQ(command.Wait(), 0) << command.err();
      runs[narrow ? 1 : 0] = command.document()["runs"][0];
    }
    const auto of = [&runs](int run, const char* field) {
      return runs[run][field].get<double>();
    };
    EXPECT_EQ(of(0, "samples"), of(1, "samples"));
    EXPECT_NEAR(of(0, "push_bytes") / of(1, "push_bytes"), 3.9, 0.05);
    EXPECT_EQ(of(0, "pushes"), of(1, "pushes"));
    EXPECT_NEAR(of(0, "pull_bytes") / of(1, "pull_bytes"), 2, 0.2);
    EXPECT_GE(of(1, "final_accuracy"), of(0, "final_accuracy") - 0.05);
  }
}

TEST(LocalCommandTest, StaticPartsAreEqualWhateverTheSpeeds) {
  LocalCommand command({"--data",
                        "synthetic:tiny",
                        "--model",
                        "logreg",
                        "--workers",
                        "3",
                        "--servers",
                        "1",
                        "--epochs",
                        "3",
                        "--paradigm",
                        "asp",
                        "--data-assignment",
                        "static",
                        "--step-time",
                        "10ms",
                        "--slowdown",
                        "1,1,4",
                        "-o",
                        "json"});
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json run = command.document()["runs"][0];
  EXPECT_EQ(run["samples"], 3 * 1024);
  std::vector<int64_t> samples;
  for (const nlohmann::json& worker : run["workers"]) {
    samples.push_back(worker["samples"]);
  }
  std::ranges::sort(samples);
  // Parts of 342, 341 and 341, three times each.
  EXPECT_THAT(samples, testing::ElementsAre(1023, 1023, 1026));
}

TEST(LocalCommandTest, BalancedBatchesFollowTheRates) {
  LocalCommand command(
      Tiny({"--batching", "balanced", "--paradigm", "bsp", "--epochs", "4",
            "--step-time", "40ms", "--slowdown", "1,4", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json run = command.document()["runs"][0];
  EXPECT_EQ(run["samples"], 4 * 1024);
  const int64_t fast = run["workers"][0]["samples"];
  const int64_t slow = run["workers"][1]["samples"];
  EXPECT_GT(fast, 2 * slow) << "whatever the rounds' number, one batch each";
  EXPECT_LE(run["workers"][0]["gap"]["max"], 1);
}

// What is simulated is what happens: with one worker, who takes the same steps
// whatever the time, every evaluation has the real one's loss.
TEST(LocalCommandTest, ASimulationTrainsAsTheRealClusterDoes) {
  LocalCommand command({"--data", "synthetic:tiny", "--model", "lenet5",
                        "--workers", "1", "--servers", "2", "--micro-batch",
                        "24", "--defer-eval", "-o", "json"});
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json real = command.document()["runs"][0];
  SimulateFlags flags;
  flags.workers = 1;
  flags.train = "lenet5";
  flags.data = "synthetic:tiny";
  flags.micro_batch = 24;
  flags.output = "json";
  const auto output = RunSimulate(flags, "", nullptr);
  ASSERT_TRUE(output.ok()) << output.status();
  const auto virtual_run = nlohmann::json::parse(output->text)["runs"][0];
  ASSERT_EQ(virtual_run["accuracy"].size(), real["accuracy"].size());
  for (size_t i = 0; i < real["accuracy"].size(); ++i) {
    EXPECT_EQ(virtual_run["accuracy"][i]["samples"],
              real["accuracy"][i]["samples"]);
    EXPECT_NEAR(virtual_run["accuracy"][i]["loss"].get<double>(),
                real["accuracy"][i]["loss"].get<double>(), 1e-5);
  }
}

TEST(LocalCommandTest, RecordsATraceThatASimulationReplays) {
  const std::string path = absl::StrCat(testing::TempDir(), "/times.jsonl");
  LocalCommand command(
      Tiny({"--paradigm", "asp", "--step-time", "10ms", "--slowdown", "1,4",
            "--record", path, "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json real = command.document()["runs"][0];
  const auto trace = ReadTraceFile(path, 32);
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(trace->at(i).iterations->size(),
              real["workers"][i]["iterations"].get<size_t>());
    EXPECT_GE(trace->at(i).iterations->at(0).compute, 9'000'000);
  }
  SimulateFlags flags;
  flags.trace = path;
  flags.samples = 1024;
  flags.paradigms = {"asp", "bsp"};
  flags.output = "json";
  const auto output = RunSimulate(flags, "", nullptr);
  ASSERT_TRUE(output.ok()) << output.status();
  const auto runs = nlohmann::json::parse(output->text)["runs"];
  // The same work; how well it predicts is measured, not tested.
  EXPECT_EQ(runs[0]["pushes"], real["pushes"]);
  EXPECT_GT(runs[1]["seconds"], runs[0]["seconds"]);
}

TEST(LocalCommandTest, IterationsInFlightAreMembersOfTheirOwn) {
  LocalCommand command(
      Tiny({"--in-flight", "2", "--step-time", "5ms", "--paradigm", "asp",
            "--paradigm", "bsp:steal=true", "-o", "json"}));
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json runs = command.document()["runs"];
  for (const nlohmann::json& run : runs) {
    EXPECT_EQ(run["samples"], 1024);
    std::vector<std::string> names;
    for (const nlohmann::json& worker : run["workers"]) {
      names.push_back(worker["worker"]);
      EXPECT_GT(worker["samples"], 0);
    }
    EXPECT_THAT(names,
                testing::UnorderedElementsAre("w0", "w0.2", "w1", "w1.2"));
  }
}

// Or 32 batches of 20 ms would take half as long.
TEST(LocalCommandTest, IterationsInFlightComputeInTurn) {
  LocalCommand command({"--data", "synthetic:tiny", "--model", "logreg",
                        "--workers", "1", "--servers", "1", "--in-flight", "2",
                        "--step-time", "20ms", "--paradigm", "asp",
                        "--paradigm", "bsp:steal=true", "-o", "json"});
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json runs = command.document()["runs"];
  for (const nlohmann::json& run : runs) {
    EXPECT_GE(run["seconds"], 32 * 0.02) << run["paradigm"];
  }
}

TEST(LocalCommandTest, SaysThatATraceCannotBeWritten) {
  LocalCommand command(Tiny({"--record", "/no/such/folder/times.jsonl"}));
  EXPECT_NE(command.Wait(), 0);
  EXPECT_THAT(command.err(),
              testing::HasSubstr("cannot write the trace /no/such/folder"));
}

// Real workers: refreshed in the middle of a batch, asked for plans, and told
// to drop iterations.
TEST(LocalCommandTest, SwitchesThroughEveryKindOfPlan) {
  Arguments arguments = {"--data",       "synthetic:tiny",
                         "--model",      "logreg",
                         "--workers",    "3",
                         "--servers",    "1",
                         "--epochs",     "8",
                         "--step-time",  "8ms",
                         "--slowdown",   "1,1,4",
                         "--defer-eval", "-o",
                         "json",         "--paradigm",
                         "bsp"};
  for (const char* const at :
       {"15%=saps:s=1", "30%=asp:staleness_weight=inverse", "45%=ksync:k=2",
        "60%=abs", "75%=asp:staleness_weight=delay_compensated", "90%=bsp"}) {
    arguments.insert(arguments.end(), {"--switch-at", at});
  }
  LocalCommand command(arguments);
  ASSERT_EQ(command.Wait(), 0) << command.err();
  const nlohmann::json run = command.document()["runs"][0];
  EXPECT_EQ(run["samples"], 8 * 1024);
  ASSERT_EQ(run["switches"].size(), 6);
  for (const nlohmann::json& done : run["switches"]) {
    EXPECT_TRUE(done["took_seconds"].is_number()) << done;
  }
  // Refreshed, its batches were cut, so that it pushed more of them.
  const nlohmann::json& slow = run["workers"][2];
  EXPECT_LT(slow["samples"], 32 * slow["iterations"].get<int64_t>());
}

// Waits until all of them are gone.
void ExpectGone(const std::vector<pid_t>& pids) {
  const Clock& clock = Clock::Real();
  const absl::Time deadline = clock.Now() + absl::Seconds(30);
  for (const pid_t pid : pids) {
    while (!Gone(pid) && clock.Now() < deadline) sched_yield();
    EXPECT_TRUE(Gone(pid)) << "pid " << pid;
  }
}

// `signal` in the middle of a run ends the command with `code` and everything
// that it has started.
void ExpectCleanEnd(int signal, int code) {
  LocalCommand command(Tiny({"--epochs", "100000", "--step-time", "20ms"}));
  ASSERT_TRUE(command.AwaitLine("samples an epoch"));
  const std::vector<pid_t> pids = command.Pids();
  ASSERT_EQ(pids.size(), 5);  // Coordinator, server, two workers, evaluator.
  kill(command.pid(), signal);
  EXPECT_EQ(command.Wait(), code) << command.err();
  ExpectGone(pids);
}

TEST(LocalCommandTest, LeavesNothingRunningOnCtrlC) {
  ExpectCleanEnd(SIGINT, 130);
}

TEST(LocalCommandTest, LeavesNothingRunningOnItsOwnDeath) {
  ExpectCleanEnd(SIGKILL, 128 + SIGKILL);
}

TEST(LocalCommandTest, SaysWhichServerWasLost) {
  LocalCommand command(Tiny({"--epochs", "100000", "--step-time", "20ms"}));
  ASSERT_TRUE(command.AwaitLine("samples an epoch"));
  const std::vector<pid_t> pids = command.Pids();
  ASSERT_EQ(kill(command.PidOf("s0"), SIGKILL), 0);
  EXPECT_EQ(command.Wait(), 1);
  EXPECT_THAT(command.err(), testing::HasSubstr("s0"));
  ExpectGone(pids);
}

// What can be refused before anything starts is in command_test.
TEST(LocalCommandTest, RefusesAModelThatDoesNotFitTheData) {
  const TestFolder folder;
  for (const char* name : {"train", "t10k"}) {
    // One image of 4x4 pixels.
    std::ofstream(absl::StrCat(folder.path(), "/", name, "-images-idx3-ubyte"))
        << std::string("\0\0\x08\x03\0\0\0\x01\0\0\0\x04\0\0\0\x04", 16)
        << std::string(16, '\x7f');
    std::ofstream(absl::StrCat(folder.path(), "/", name, "-labels-idx1-ubyte"))
        << std::string("\0\0\x08\x01\0\0\0\x01\x03", 9);
  }
  LocalCommand command({"--data", "mnist:" + folder.path()});
  const int code = command.Wait();
  EXPECT_GT(code, 0);
  EXPECT_LT(code, 128);
  EXPECT_THAT(command.err(), testing::HasSubstr("lenet5 needs images"));
  EXPECT_EQ(std::count(command.err().begin(), command.err().end(), '\n'), 1);
  EXPECT_EQ(command.out(), "");
}

TEST(LocalCommandTest, RefusesAPortInUse) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(taken, generic, size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, generic, &size), 0);
  LocalCommand command(
      Tiny({"--port", std::to_string(ntohs(address.sin_port))}));
  const int code = command.Wait();
  EXPECT_GT(code, 0);
  EXPECT_LT(code, 128);
  EXPECT_THAT(command.err(), testing::HasSubstr("in use"));
  ExpectGone(command.Pids());
  close(taken);
}

}  // namespace
}  // namespace paceline
