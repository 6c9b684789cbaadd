#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/cluster.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(CommandLinesTest, Coordinator) {
  LocalOptions options;
  options.port = 7000;
  options.job.lease = absl::Milliseconds(2500);
  EXPECT_THAT(CoordinatorCommand("/bin", "/run", options),
              ElementsAre("/bin/paceline-coordinator", "--store",
                          "/run/jobs.db", "--checkpoints", "/run/checkpoints",
                          "--lease", "2.5s", "--grace", "1s", "--listen",
                          "127.0.0.1:7000", "--metrics", "127.0.0.1:0"));
  options.record = "trace.jsonl";
  const CommandLine recording = CoordinatorCommand("/bin", "/run", options);
  EXPECT_THAT(std::vector(recording.end() - 2, recording.end()),
              ElementsAre("--record", "/run/record"));
}

TEST(CommandLinesTest, Server) {
  EXPECT_THAT(ServerCommand("/bin", "127.0.0.1:7000", 1),
              ElementsAre("/bin/paceline-server", "--coordinator",
                          "127.0.0.1:7000", "--name", "s1", "--listen",
                          "127.0.0.1:0", "--metrics", "127.0.0.1:0"));
}

TEST(CommandLinesTest, WorkerGetsItsOwnPace) {
  LocalOptions options;
  options.workers = {{},
                     {"4", "20ms", "constant:5ms", "every=2s,for=1s", "0.02"}};
  options.devices = {"auto", "cuda:1"};
  EXPECT_THAT(
      WorkerCommand("/bin", "/run", "a:1", options, 0),
      ElementsAre("/bin/paceline-worker", "--coordinator", "a:1", "--name",
                  "w0", "--metrics", "127.0.0.1:0", "--device", "auto",
                  "--threads", "1", "--data-anywhere"));
  EXPECT_THAT(
      WorkerCommand("/bin", "/run", "a:1", options, 1),
      ElementsAre("/bin/paceline-worker", "--coordinator", "a:1", "--name",
                  "w1", "--metrics", "127.0.0.1:0", "--device", "cuda:1",
                  "--threads", "1", "--data-anywhere", "--slowdown", "4",
                  "--step-time", "20ms", "--delay", "constant:5ms", "--pause",
                  "every=2s,for=1s", "--micro-batch-cost", "0.02"));
}

TEST(CommandLinesTest, EvaluatorYieldsOnlyWhileOthersTrain) {
  LocalOptions options;
  options.devices = {"cuda:2", "cpu"};
  EXPECT_THAT(
      EvaluatorCommand("/bin", "/run", "a:1", options),
      ElementsAre("/bin/paceline-worker", "--coordinator", "a:1", "--name",
                  "eval", "--metrics", "127.0.0.1:0", "--device", "cuda:2",
                  "--threads", "1", "--data-anywhere", "--evaluator"));
  options.job.spec.mutable_stop()->set_at_target(true);
  EXPECT_THAT(EvaluatorCommand("/bin", "/run", "a:1", options),
              Contains("--low-priority"));
}

// Whatever device and threads there are, they are the program's.
TEST(CommandLinesTest, AnAgentStartsItsProgram) {
  LocalOptions options;
  options.program = LocalProgram{"python3 train.py --big", "train"};
  options.workers = {{.slowdown = "4"}};
  options.devices = {"cuda:1"};
  options.threads = 8;
  EXPECT_THAT(
      WorkerCommand("/bin", "/run", "a:1", options, 0),
      ElementsAre("/bin/paceline-worker", "--coordinator", "a:1", "--name",
                  "w0", "--metrics", "127.0.0.1:0", "--device", "cpu",
                  "--threads", "1", "--program", "train", "--exec",
                  "python3 train.py --big", "--program-log",
                  "/run/w0.program.log", "--slowdown", "4"));
  EXPECT_THAT(
      EvaluatorCommand("/bin", "/run", "a:1", options),
      ElementsAre("/bin/paceline-worker", "--coordinator", "a:1", "--name",
                  "eval", "--metrics", "127.0.0.1:0", "--device", "cpu",
                  "--threads", "1", "--program", "train", "--exec",
                  "python3 train.py --big", "--program-log",
                  "/run/eval.program.log", "--evaluator"));
}

}  // namespace
}  // namespace paceline
