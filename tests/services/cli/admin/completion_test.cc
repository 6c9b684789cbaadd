#include "services/cli/admin/completion.h"

#include <stdio.h>
#include <sys/wait.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/admin/admin_commands.h"
#include "tests/common/test_folder.h"
#include "tests/services/cli/admin/fake_cluster.h"
#include "tests/services/cli/admin/run_command.h"
#include "tests/services/cli/admin/samples.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

using Live = Completion::Live;

// What a shell prints; its exit code is the last line.
std::string Shell(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  std::string out;
  char buffer[4096];
  size_t n = 0;
  while ((n = fread(buffer, 1, sizeof(buffer), pipe)) > 0) {
    out.append(buffer, n);
  }
  return absl::StrCat(out, "=", WEXITSTATUS(pclose(pipe)));
}

Completion Of(const std::string& typed) {
  CLI::App app("test", "paceline");
  const auto chosen = AddAdminCommands(app, Console());
  return Complete(app, absl::StrSplit(typed, ' '));
}

struct CompletionCase {
  std::string typed;
  std::vector<std::string> words;
  Live live = Live::kNone;
};

void ExpectCompletions(const std::vector<CompletionCase>& cases) {
  for (const CompletionCase& c : cases) {
    const Completion got = Of(c.typed);
    EXPECT_EQ(got.words, c.words) << c.typed;
    EXPECT_EQ(got.live, c.live) << c.typed;
  }
}

TEST(CompletionTest, Table) {
  ExpectCompletions({
      {"j", {"job"}},
      {"__", {}},
      {"co", {"completion", "config", "coordinator"}},
      {"job re", {"report", "restore", "resume"}},
      {"job get ", {}, Live::kJobs},
      {"job get mnist ", {}, Live::kJobs},
      {"job watch mnist ", {}},
      {"job get --reque", {"--request-timeout"}},
      {"job get -o ", {"json", "name", "table", "wide", "yaml"}},
      {"job get -o y", {"yaml"}},
      {"job get --output=y", {"--output=yaml"}},
      {"job get -n team ", {}, Live::kJobs},
      {"job wait mnist --for=state=SU", {"--for=state=SUCCEEDED"}},
      {"job wait mnist --for state=PAUSE", {"state=PAUSED"}},
      {"job create -f ", {}, Live::kFiles},
      {"job create --filename=", {}, Live::kFiles},
      {"job switch mnist --paradigm c", {"cgp"}},
      {"job switch mnist --paradigm k",
       {"kasync", "kbatchasync", "kbatchsync", "ksync"}},
      {"job create --model res",
       {"resnet110", "resnet110v2", "resnet20", "resnet20v2", "resnet32",
        "resnet32v2", "resnet50", "resnet50v2"}},
      {"job restore mnist --checkpoint ", {}, Live::kCheckpoints},
      {"checkpoint get ", {}, Live::kCheckpoints},
      {"checkpoint verify ", {}, Live::kFiles},
      {"worker drain w0 ", {}, Live::kWorkers},
      {"worker logs ", {}, Live::kWorkers},
      {"worker logs w0 ", {}},
      {"worker logs w0 --ta", {"--tail"}},
      {"server drain ", {}, Live::kServers},
      {"server logs ", {}, Live::kServers},
      {"config use-context ", {}, Live::kContexts},
      {"job list --context ", {}, Live::kContexts},
      {"job list --nothing ", {}},
      {"top ", {}, Live::kJobs},
  });
  EXPECT_THAT(Of("").words, Contains("checkpoint"));
  EXPECT_THAT(Of("").words, Not(Contains("__complete")));
}

// What a program knows without a coordinator.
TEST(CompletionTest, KnownValues) {
  ExpectCompletions({
      {"job switch ", {}, Live::kJobs},
      {"job switch mnist k", {"kasync", "kbatchasync", "kbatchsync", "ksync"}},
      {"job switch mnist au", {"auto"}},
      {"job switch mnist cgp ", {}},
      {"job switch mnist --reason slow bs", {"bsp"}},
      {"job list --state=pau", {"--state=paused", "--state=pausing"}},
      {"job create --data ",
       {"cifar100:", "cifar10:", "mnist:", "program", "stream",
        "synthetic:color-shapes", "synthetic:shapes", "synthetic:tiny"}},
      {"job create --data synthetic:t", {"synthetic:tiny"}},
      {"job create --model p", {"program:"}},
      {"job metrics mnist --tensorboard ", {}, Live::kFiles},
      {"job compare a b ", {}, Live::kJobs},
      {"completion ", {"bash", "zsh"}},
      {"job metrics m -o ", {"csv", "json", "name", "table", "wide", "yaml"}},
      {"checkpoint verify c -o ", {"json", "table"}},
  });
}

TEST(CompletionTest, FlagsOfTheLineAreKept) {
  const Completion completion =
      Of("job get -n team --address=x:1 --insecure-plaintext --context lab m");
  EXPECT_EQ(completion.typed, "m");
  EXPECT_EQ(completion.flags, (std::map<std::string, std::string>{
                                  {"--namespace", "team"},
                                  {"--address", "x:1"},
                                  {"--insecure-plaintext", "true"},
                                  {"--context", "lab"}}));
}

TEST(CompletionTest, LiveNames) {
  FakeCluster cluster;
  cluster.jobs.onListJobs = [](const auto& request, auto* response) {
    EXPECT_EQ(request.parent(), "namespaces/team");
    *response->add_jobs() = RunningJob();
    *response->add_jobs() = PendingJob();
  };
  cluster.jobs.onListCheckpoints = [](const auto& request, auto* response) {
    EXPECT_EQ(request.parent(), "namespaces/team/jobs/mnist");
    *response->add_checkpoints() = ReadyCheckpoint();
  };
  cluster.cluster.onListWorkers = [](const auto&, auto* response) {
    *response->add_workers() = AssignedWorker();
  };
  cluster.cluster.onListServers = [](const auto&, auto* response) {
    *response->add_servers() = SampleServer();
  };
  const TestFolder folder;
  CommandRunner command;
  command.environment = {
      {"PACELINE_ADDRESS", cluster.address()},
      {"PACELINE_CONFIG", folder.Write("c.yaml", "contexts: {lab: {}}")}};
  const auto complete = [&](const std::string& line) {
    return command.Run("__complete", absl::StrSplit(line, ' ')).out;
  };
  EXPECT_EQ(complete("job get -n team "), "mnist\nwaiting\n");
  EXPECT_EQ(complete("job get --namespace=team m"), "mnist\n");
  EXPECT_EQ(complete("worker drain "), "w2\n");
  EXPECT_EQ(complete("worker logs "), "w2\n");
  EXPECT_EQ(complete("server logs "), "s0\n");
  EXPECT_EQ(complete("checkpoint get -n team m"), "mnist/\n");
  EXPECT_EQ(complete("checkpoint get -n team mnist/"), "mnist/c1\n");
  EXPECT_EQ(complete("job list --context=l"), "--context=lab\n");
  EXPECT_EQ(complete("job create -f "), ":files\n");
  EXPECT_EQ(complete("job pau"), "pause\n");
  // There is nobody to read an error.
  cluster.Stop();
  const auto away = command.Run("__complete", {"worker", "drain", ""});
  EXPECT_EQ(away.code, 0);
  EXPECT_THAT(away.out, IsEmpty());
  EXPECT_THAT(away.err, IsEmpty());
}

class CompletionScriptTest : public testing::Test {
 protected:
  std::string Script(const std::string& shell) {
    return folder_.Write(absl::StrCat("script.", shell),
                         CommandRunner().Run("completion " + shell).out);
  }

  TestFolder folder_;
};

TEST_F(CompletionScriptTest, ShellsTakeThem) {
  EXPECT_EQ(Shell("bash -n " + Script("bash") + " 2>&1"), "=0");
  if (Shell("command -v zsh >/dev/null") != "=0") GTEST_SKIP() << "no zsh";
  EXPECT_EQ(Shell("zsh -n " + Script("zsh") + " 2>&1"), "=0");
}

// The bash function with a program that says what it was asked.
TEST_F(CompletionScriptTest, BashAsksAndOffers) {
  const std::string script = Script("bash");
  const auto complete = [&](const std::string& line,
                            const std::string& answer) {
    const std::string driver = folder_.Write(
        "driver.sh", absl::StrCat("paceline() { printf '%s|' \"$@\" >",
                                  folder_.Path("asked"), "; printf -- '",
                                  answer, "'; }\n. ", script, "\nCOMP_LINE='",
                                  line, "' COMP_POINT=", line.size(),
                                  " COMP_WORDBREAKS=$' \\t\\n=:'\n_paceline\n"
                                  "printf '%s,' \"${COMPREPLY[@]}\"\n"));
    return Shell("bash " + driver + " 2>&1; printf ' '; cat " +
                 folder_.Path("asked"));
  };
  EXPECT_EQ(complete("paceline job get ", "a\\nb\\n"),
            "a,b, __complete|job|get||=0");
  EXPECT_EQ(
      complete("paceline job wait x --for=state=S", "--for=state=STARTING\\n"),
      "STARTING, __complete|job|wait|x|--for=state=S|=0");
}

}  // namespace
}  // namespace paceline
