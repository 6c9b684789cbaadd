// The program: its flags, and what SIGTERM does to it.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gpu/gpu_device.h"
#include "tests/common/test_paths.h"
#include "tests/services/worker/fake_coordinator.h"
#include "tests/services/worker/fake_parameters.h"
#include "tests/services/worker/worker_testing.h"

namespace paceline {
namespace {

using Kind = v1::WorkerMessage;
using ::testing::HasSubstr;

// paceline-worker with these flags. Killed if it is still there at the end.
class Program {
 public:
  explicit Program(std::vector<std::string> flags) {
    std::vector<std::string> words = {ProgramPath("paceline-worker"), "--name",
                                      "w0"};
    words.insert(words.end(), flags.begin(), flags.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    EXPECT_EQ(
        posix_spawn(&pid_, argv[0], nullptr, nullptr, argv.data(), environ), 0);
  }
  ~Program() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void Signal(int signal) { EXPECT_EQ(kill(pid_, signal), 0); }
  // Its exit status; -1 if a signal ended it.
  int AwaitExit() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
};

TEST(WorkerProcessTest, AnnouncesWhatItsFlagsSay) {
  FakeCoordinator coordinator;
  Program program({"--coordinator", coordinator.address(), "--pool", "fast",
                   "--label", "zone=a", "--label", "note=x=y", "--gpu-model",
                   "NVIDIA H100 PCIe", "--memory", "80GiB", "--device", "cpu",
                   "--evaluator"});
  const auto session = coordinator.NextSession();
  const v1::WorkerHello hello = session->Register();
  EXPECT_EQ(hello.name(), "w0");
  EXPECT_EQ(hello.pool(), "fast");
  EXPECT_EQ(hello.device(), "cpu");
  EXPECT_EQ(hello.gpu_model(), "NVIDIA H100 PCIe");
  EXPECT_EQ(hello.memory_bytes(), uint64_t{80} << 30);
  EXPECT_EQ(hello.labels().at("zone"), "a");
  EXPECT_EQ(hello.labels().at("note"), "x=y");
  EXPECT_TRUE(hello.evaluator());
  EXPECT_FALSE(hello.version().empty());
  EXPECT_THAT(hello.formats(), testing::ElementsAre(v1::INT8));
  session->AwaitHeartbeats(1);  // It has taken that in.
  program.Signal(SIGTERM);
  EXPECT_TRUE(session->Expect(Kind::kLeaving).leaving().process());
  session->ExpectEnd();
  EXPECT_EQ(program.AwaitExit(), 0);
}

TEST(WorkerProcessTest, WithoutFlagsItAnnouncesTheMachine) {
  FakeCoordinator coordinator;
  Program program({"--coordinator", coordinator.address()});
  const auto session = coordinator.NextSession();
  const v1::WorkerHello hello = session->Register();
  EXPECT_EQ(hello.pool(), "default");
  const auto gpu = FindGpu(0);
  EXPECT_EQ(hello.device(), gpu.ok() ? "cuda" : "cpu");
  EXPECT_EQ(hello.gpu_model(), gpu.ok() ? gpu->name : "");
  EXPECT_EQ(hello.gpu_uuid(), gpu.ok() ? gpu->uuid : "");
  EXPECT_EQ(hello.compute_capability(),
            gpu.ok() ? gpu->compute_capability : "");
  EXPECT_GT(hello.memory_bytes(), 1u << 20);
  program.Signal(SIGINT);
  EXPECT_EQ(program.AwaitExit(), 0);
}

TEST(WorkerProcessTest, ALoadingThatDoesNotEndIsCutShortByTheGracePeriod) {
  SlowData slow;
  FakeCoordinator coordinator;
  Program program({"--coordinator", coordinator.address(), "--grace", "200ms",
                   "--data-anywhere"});
  const auto session = coordinator.NextSession();
  session->Register();
  session->Assign(AssignmentOf(1, slow.spec()));
  slow.AwaitLoading();
  program.Signal(SIGTERM);
  EXPECT_EQ(program.AwaitExit(), 0);
  session->ExpectEnd();
}

TEST(WorkerProcessTest, AJobReadsBelowTheDataRootAlone) {
  FakeCoordinator coordinator;
  Program program(
      {"--coordinator", coordinator.address(), "--data-root", "/usr"});
  const auto session = coordinator.NextSession();
  session->Register();
  for (const char* data :
       {"mnist:/etc", "cifar10:/proc/self", "mnist:../etc", "mnist:/usr"}) {
    session->Assign(AssignmentOf(1, data));
    const auto failed = session->Expect(Kind::kFailed).failed();
    EXPECT_EQ(failed.code(),
              static_cast<int>(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(failed.message(), HasSubstr("--data-anywhere"));
  }
  session->Assign(AssignmentOf(1, "mnist:none"));
  EXPECT_THAT(session->Expect(Kind::kFailed).failed().message(),
              HasSubstr("/usr/none/train-images"));
}

TEST(WorkerProcessTest, ASecondSignalDropsTheIteration) {
  FakeCoordinator coordinator;
  FakeParameters parameters;
  Program program({"--coordinator", coordinator.address(), "--grace", "1h"});
  const auto session = coordinator.NextSession();
  session->Register();
  BeginJob(*session, parameters, 1);
  parameters.HoldPulls();
  session->Grant(1);
  parameters.AwaitHeldPull();
  program.Signal(SIGTERM);
  program.Signal(SIGINT);
  EXPECT_TRUE(session->Expect(Kind::kLeaving).leaving().process());
  EXPECT_EQ(program.AwaitExit(), 0);
}

TEST(WorkerProcessTest, BadFlagsAreRefusedBeforeAnythingElse) {
  const std::vector<std::vector<std::string>> bad = {
      {"--label", "nothing"},    {"--label", "a=1", "--label", "a=2"},
      {"--label", "=x"},         {"--grace", "-1s"},
      {"--grace", "soon"},       {"--patience", "inf"},
      {"--device", "tpu"},       {"--memory", "much"},
      {"--device", "cpu,cuda"},  {"--device", "cpu,cpu", "--program", "x"},
      {"--slowdown", "nothing"}, {"--threads", "x"},
  };
  for (const auto& flags : bad) {
    // Nobody listens at port 1: it would try for ever.
    std::vector<std::string> all = {"--coordinator", "127.0.0.1:1"};
    all.insert(all.end(), flags.begin(), flags.end());
    Program program(all);
    EXPECT_NE(program.AwaitExit(), 0) << flags[0] << " " << flags[1];
  }
}

}  // namespace
}  // namespace paceline
