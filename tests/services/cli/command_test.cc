#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/process/child_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/run_files.h"
#include "tests/common/test_paths.h"
#include "tests/services/cli/fake_programs.h"

// The built `paceline`, as a person or a script meets it.

namespace paceline {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// A coordinator that says where it listens, and does not.
constexpr char kUnreachable[] =
    R"(echo '{"event":"listening","address":"127.0.0.1:1"}')"
    "\n";

struct Outcome {
  ExitCause cause;
  std::string out;
  std::string err;
};

class CommandTest : public testing::Test {
 protected:
  CommandTest() { setenv("PACELINE_BIN_DIR", programs_.bin_dir().c_str(), 1); }

  ChildProcess Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ProgramPath("paceline"));
    absl::StatusOr<ChildProcess> child =
        ChildProcess::Start({.name = "paceline",
                             .argv = arguments,
                             .log_path = log_path(),
                             .capture_stdout = true});
    EXPECT_TRUE(child.ok()) << child.status();
    return *std::move(child);
  }

  Outcome Await(ChildProcess& child) const {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
    Outcome outcome;
    for (const std::string& line : LineReader(child.stdout_fd()).Read()) {
      absl::StrAppend(&outcome.out, line, "\n");
    }
    outcome.cause = child.Poll().value_or(ExitCause());
    std::ostringstream err;
    err << std::ifstream(log_path()).rdbuf();
    outcome.err = err.str();
    return outcome;
  }

  Outcome RunCommand(const std::vector<std::string>& arguments) {
    ChildProcess child = Start(arguments);
    return Await(child);
  }

  // A run on small data whose cluster is the fake one.
  std::vector<std::string> SmallRun() const {
    return {"local", "--data",    "synthetic:tiny",   "--workers",
            "1",     "--run-dir", programs_.run_dir()};
  }

  std::string log_path() const { return programs_.bin_dir() + "/stderr"; }

  FakePrograms programs_;
};

TEST_F(CommandTest, BadInputIsOneLineAndACode) {
  const std::string dir = programs_.bin_dir();
  std::ofstream(dir + "/train-images-idx3-ubyte") << "not an image file";
  const std::vector<std::pair<std::string, int>> kCases = {
      {"", 2},
      {"dance", 2},
      {"local --wokers 3", 2},
      {"local --workers three", 2},
      {"local --workers 0", 2},
      {"local --paradigm gossip", 2},
      {"local --paradigm dssp:lower=5,upper=1", 2},
      {"local --slowdown 1,2", 2},
      {"local --target-accuracy 1.5", 2},
      {"local --data synthetic:nothing", 2},
      {"local --program train --model mlp", 2},
      {"local --argument depth=18", 2},
      {"local --data mnist:/nowhere", 3},
      {"local --data cifar10:/nowhere", 3},
      {"local --data cifar100:/nowhere", 3},
      {absl::StrCat("local --data mnist:", dir), 2},
      {"local --data synthetic:tiny --model transformer", 2},
      {"local --data synthetic:tiny --run-dir /proc/none", 2},
      {"simulate --workers three", 2},
      {"simulate --paradigm gossip", 2},
      {"simulate --trace /nowhere", 3},
      {"version -o yaml", 2},
  };
  for (const auto& [arguments, code] : kCases) {
    const Outcome outcome =
        RunCommand(absl::StrSplit(arguments, ' ', absl::SkipEmpty()));
    EXPECT_EQ(outcome.cause.exit_code, code) << arguments << outcome.err;
    EXPECT_EQ(outcome.cause.signal, 0) << arguments;
    EXPECT_THAT(outcome.out, IsEmpty()) << arguments;
    EXPECT_THAT(outcome.err, StartsWith("paceline: ")) << arguments;
    const std::vector<std::string> lines = absl::StrSplit(outcome.err, '\n');
    EXPECT_THAT(lines, SizeIs(2)) << arguments;
  }
}

TEST_F(CommandTest, AWrongCommandLineSaysWhatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"", "say which command of paceline: local, simulate, "},
      {"job", "say which command of paceline job: create, "},
      {"jobs list",
       "there is no command \"jobs\" of paceline; did you mean "
       "job? (see paceline --help)"},
      {"job lst",
       "there is no command \"lst\" of paceline job; did you mean "
       "list? (see paceline job --help)"},
      {"job frobnicate", "of paceline job; there are create, "},
      {"local --wokers 3",
       "paceline local has no flag --wokers; did you mean "
       "--workers? (see paceline local --help)"},
      {"local --wokers=3", "has no flag --wokers; did you mean --workers?"},
      {"local mnist", "paceline local does not take \"mnist\" (see "},
      {"complete", "\"complete\" of paceline; there are local, "},
      {"job switch m --pardigm bsp",
       "paceline job switch has no flag "
       "--pardigm; did you mean --paradigm?"},
      {"local --epochs 0.5", "--epochs 0.5: want a whole number (see "},
      {"local --learning-rate fast", "--learning-rate fast: want a number "},
      {"job switch", "(see paceline job switch --help)"},
      {"--context lab job list",
       "paceline: --context has to stand behind the command: paceline job "
       "list --context (see paceline job list --help)"},
      {"job -n=vision list", "command: paceline job list -n (see "},
      {"--contxt lab job list", "list has no flag --contxt; did you mean "},
      {"lab job list",
       "paceline: \"lab\" does not belong behind paceline (see "},
      {"job lab list", "\"lab\" does not belong behind paceline job (see "},
  };
  for (const auto& [arguments, text] : kCases) {
    const Outcome outcome =
        RunCommand(absl::StrSplit(arguments, ' ', absl::SkipEmpty()));
    EXPECT_EQ(outcome.cause.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(text)) << arguments;
    EXPECT_THAT(outcome.err, EndsWith("--help)\n")) << arguments;
    EXPECT_THAT(outcome.err, Not(HasSubstr("__complete"))) << arguments;
  }
}

TEST_F(CommandTest, VersionIsAFlagToo) {
  const Outcome flag = RunCommand({"--version"});
  EXPECT_TRUE(flag.cause.clean());
  EXPECT_THAT(flag.out, StartsWith("paceline "));
  EXPECT_EQ(flag.out, RunCommand({"version", "--client"}).out);
}

TEST_F(CommandTest, HelpShowsExamplesAndExitCodes) {
  const Outcome outcome = RunCommand({"local", "--help"});
  EXPECT_TRUE(outcome.cause.clean());
  EXPECT_THAT(outcome.out, HasSubstr("Examples:"));
  EXPECT_THAT(outcome.out, HasSubstr("Exit codes:"));
  EXPECT_THAT(outcome.out, HasSubstr("--paradigm"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(CommandTest, Version) {
  EXPECT_THAT(RunCommand({"version"}).out, StartsWith("paceline "));
  EXPECT_THAT(RunCommand({"version", "-o", "json"}).out,
              HasSubstr(R"("version": ")"));
}

TEST_F(CommandTest, SimulatesWithoutAnyOtherProgram) {
  std::filesystem::remove(programs_.bin_dir() + "/paceline-server");
  const Outcome outcome =
      RunCommand({"simulate", "--workers", "2", "--iterations", "5"});
  EXPECT_TRUE(outcome.cause.clean()) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("PARADIGM"));
  EXPECT_THAT(outcome.err, IsEmpty());
  const Outcome standstill =
      RunCommand({"simulate", "--workers", "1", "--crash", "0@5s"});
  EXPECT_EQ(standstill.cause.exit_code, 1);
  EXPECT_THAT(standstill.out, HasSubstr("could not go on"));
}

TEST_F(CommandTest, AMissingProgramIsNamed) {
  std::filesystem::remove(programs_.bin_dir() + "/paceline-server");
  const Outcome outcome = RunCommand(SmallRun());
  EXPECT_EQ(outcome.cause.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("/paceline-server is missing"));
}

TEST_F(CommandTest, InterruptEndsItWith130) {
  programs_.Coordinator(
      absl::StrCat(kUnreachable, kAwaitMembers, "kill -INT $PPID\n", kSleep));
  std::vector<std::string> arguments = SmallRun();
  arguments.insert(arguments.end(), {"-o", "json"});
  const Outcome outcome = RunCommand(arguments);
  EXPECT_EQ(outcome.cause.exit_code, 130);
  EXPECT_THAT(outcome.out, HasSubstr(R"("runs": [])"));
  EXPECT_FALSE(programs_.Pids("1-bsp").empty());
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
}

TEST_F(CommandTest, NothingOutlivesItWhenItIsKilled) {
  // Its orphans come to us, so that we can see them end.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  programs_.Coordinator(
      absl::StrCat(kUnreachable, kAwaitMembers, "kill -KILL $PPID\n", kSleep));
  const Outcome outcome = RunCommand(SmallRun());
  EXPECT_EQ(outcome.cause.signal, SIGKILL);
  const std::map<std::string, pid_t> pids = programs_.Pids("1-bsp");
  EXPECT_THAT(pids, SizeIs(5));
  for (const auto& [name, pid] : pids) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid) << name;
    EXPECT_EQ(WTERMSIG(status), SIGKILL) << name;
  }
}

}  // namespace
}  // namespace paceline
