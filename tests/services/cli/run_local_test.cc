#include "services/cli/run_local.h"

#include <fcntl.h>
#include <signal.h>

#include <fstream>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "services/cli/local_options.h"
#include "services/cli/plot/plot_page.h"
#include "tests/common/test_paths.h"
#include "tests/services/cli/fake_programs.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

// What a fake coordinator tells in the file at its "address".
class FakeFeed : public JobFeed {
 public:
  explicit FakeFeed(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY)), file_(path) {}

  int fd() const override { return fd_.get(); }

  News Read() override {
    News news;
    for (std::string line; std::getline(file_, line);) Take(line, &news);
    file_.clear();
    // A file is always readable.
    if (news.events.empty()) std::this_thread::yield();
    return news;
  }

 private:
  static void Take(const std::string& line, News* news) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (parts.first == "event") {
      ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(
                      parts.second, &news->events.emplace_back())
                      .ok())
          << line;
    } else if (parts.first == "report") {
      news->report = Json::parse(parts.second);
    } else {
      ASSERT_EQ(parts.first, "failed");
      news->report = absl::NotFoundError(parts.second);
    }
  }

  UniqueFd fd_;
  std::ifstream file_;
};

// Runs that somebody else decides: waits are so long that only a hang reaches
// them, but where a test shortens one.
class RunLocalTest : public testing::Test {
 protected:
  RunLocalTest() {
    flags_.workers = 2;
    flags_.servers = 1;
    flags_.output = "json";
    // The fake members do not end by themselves.
    timeouts_ = {.listening = absl::Minutes(10),
                 .started = absl::Minutes(10),
                 .silence = absl::Minutes(10),
                 .cause = absl::Minutes(10),
                 .grace = absl::Minutes(10)};
  }

  int RunAll() {
    const absl::StatusOr<LocalOptions> options = ParseLocalOptions(flags_);
    EXPECT_TRUE(options.ok()) << options.status();
    return RunLocal(
        *options, /*train_samples=*/64,
        {.bin_dir = programs_.bin_dir(),
         .run_dir = programs_.run_dir(),
         .command = "paceline local --plot page.html",
         .progress = {.write =
                          [this](absl::string_view text) {
                            absl::StrAppend(&stderr_, text);
                            return stderr_taken_;
                          }},
         .write_result =
             [this](absl::string_view text) {
               absl::StrAppend(&stdout_, text);
               return true;
             },
         .timeouts = timeouts_,
         .start_job =
             [](const std::string& address, const v1::CreateJobRequest&) {
               return std::make_unique<FakeFeed>(address);
             }});
  }

  // The document without its white space.
  std::string Document() const {
    return Json::parse(stdout_, nullptr, false).dump();
  }

  // Whose optimizer nobody has to ask for.
  void TrainProgram() {
    flags_.program.command = "python3 train.py";
    flags_.typed = {"--program", "--optimizer", "--learning-rate"};
  }

  FakePrograms programs_;
  LocalFlags flags_;
  RunTimeouts timeouts_;
  std::string stdout_;
  std::string stderr_;
  bool stderr_taken_ = true;
};

constexpr char kNoRuns[] = R"({"runs":[]})";
constexpr char kOneRun[] = R"({"runs":[{"paradigm":"bsp","seconds":2}]})";

TEST_F(RunLocalTest, RunsEveryParadigmInAFolderOfItsOwn) {
  programs_.Coordinator(absl::StrCat(
      kListening, kAwaitMembers, kStarted,
      "name=$(sed -n 's/.*\"paradigm\": \"\\(.*\\)\".*/\\1/p' "
      "\"${2%/*}/job.json\")\n",
      Tell(R"(event {"progress":{"seconds":1,"phase":"training"}})"),
      Tell(R"(event {"decision":{"worker":"w1","kind":"refresh"}})"),
      Tell(R"(report {"z":1,"paradigm":"'$name'"})")));
  programs_.Worker(absl::StrCat("echo \"$@\"\n", kSleep));
  flags_.paradigms = {"bsp", "ssp:s=3"};
  flags_.slowdown = "1,4";
  EXPECT_EQ(RunAll(), 0) << stderr_;
  EXPECT_EQ(Document(), R"({"runs":[{"z":1,"paradigm":"bsp"},)"
                        R"({"z":1,"paradigm":"ssp:s=3"}]})");
  EXPECT_THAT(stderr_,
              HasSubstr(absl::StrCat("logs in ", programs_.run_dir(), "\n")));
  EXPECT_THAT(stderr_, HasSubstr("[bsp (run 1 of 2)] 1.0 s  training"));
  EXPECT_THAT(stderr_, HasSubstr("[ssp:s=3 (run 2 of 2)] 1.0 s  training"));
  for (const std::string run : {"1-bsp", "2-ssp-s-3"}) {
    EXPECT_THAT(programs_.Pids(run),
                ElementsAre(Key("coordinator"), Key("eval"), Key("s0"),
                            Key("w0"), Key("w1")));
    EXPECT_TRUE(programs_.AllGone(run));
    EXPECT_THAT(programs_.File(run, "result.json"), HasSubstr("\"z\": 1"));
  }
  EXPECT_THAT(programs_.File("2-ssp-s-3", "job.json"),
              HasSubstr("\"paradigm\": \"ssp:s=3\""));
}

TEST_F(RunLocalTest, MeasuresTheSecondsToEachTarget) {
  programs_.Coordinator(absl::StrCat(
      kListening, kAwaitMembers, kStarted,
      Tell(
          R"(report {"target":"accuracy>=0.875","seconds_to_target":6,)"
          R"("accuracy":[{"seconds":2,"accuracy":0.5},)"
          R"({"seconds":4,"accuracy":0.75},{"seconds":6,"accuracy":0.875}]})")));
  flags_.target_accuracy = {0.875, 0.625};
  EXPECT_EQ(RunAll(), 0) << stderr_;
  const Json run = Json::parse(stdout_)["runs"][0];
  EXPECT_EQ(run["targets"].dump(), R"([{"accuracy":0.625,"seconds":3.0},)"
                                   R"({"accuracy":0.875,"seconds":6.0}])");
  EXPECT_EQ(run["seconds_to_target"], 3);
  EXPECT_EQ(run["target"], "accuracy>=0.625");
  EXPECT_THAT(stderr_,
              HasSubstr("0.625 reached after 3.0 s, 0.875 reached after"));
  EXPECT_THAT(programs_.File("1-bsp", "job.json"),
              HasSubstr("\"target_accuracy\": 0.875"));
}

TEST_F(RunLocalTest, DrawsAllRunsOnAPage) {
  if (!PlotPage(Json::object(), {}).ok()) GTEST_SKIP() << "without ECharts";
  programs_.Coordinator(
      absl::StrCat(kListening, kAwaitMembers, kStarted,
                   Tell(R"(report {"paradigm":"x","seconds":4,"samples":8,)"
                        R"("timeline":{"seconds":3}})")));
  flags_.repeat = 2;
  flags_.plot = absl::StrCat(programs_.run_dir(), "/page.html");
  EXPECT_EQ(RunAll(), 0) << stderr_;
  // Lanes are large, and nobody but the page reads them.
  EXPECT_THAT(stdout_, Not(HasSubstr("timeline")));
  EXPECT_THAT(programs_.File("1-bsp", "result.json"),
              Not(HasSubstr("timeline")));
  const std::string page = programs_.File("", "page.html");
  EXPECT_THAT(page, HasSubstr("paceline local --plot"));
  EXPECT_THAT(page, HasSubstr("\"name\":\"bsp, seed 1\""));
  EXPECT_THAT(page, HasSubstr("\"name\":\"bsp, seed 2\""));
  EXPECT_THAT(page, HasSubstr("\"timeline\":{\"seconds\":3}"));
}

TEST_F(RunLocalTest, SaysBeforeTheRunsThatAPageCannotBeWritten) {
  if (!PlotPage(Json::object(), {}).ok()) GTEST_SKIP() << "without ECharts";
  flags_.plot = "/proc/none/page.html";
  EXPECT_EQ(RunAll(), 4);
  EXPECT_THAT(stderr_, HasSubstr("--plot /proc/none/page.html: the file"));
  EXPECT_EQ(stdout_, "");
}

TEST_F(RunLocalTest, RepeatsByTurnsWithSeedAfterSeed) {
  programs_.Coordinator(
      absl::StrCat(kListening, kAwaitMembers, kStarted,
                   "seed=$(sed -n 's/.*\"seed\": \"\\(.*\\)\".*/\\1/p' "
                   "\"${2%/*}/job.json\")\n",
                   Tell(R"(report {"paradigm":"x","seconds":'$seed'})")));
  flags_.paradigms = {"bsp", "asp"};
  flags_.repeat = 2;
  flags_.seed = "4";
  EXPECT_EQ(RunAll(), 0) << stderr_;
  const Json document = Json::parse(stdout_);
  EXPECT_EQ(document["runs"].dump(),
            R"([{"paradigm":"x","seconds":4,"seed":4},)"
            R"({"paradigm":"x","seconds":4,"seed":4},)"
            R"({"paradigm":"x","seconds":5,"seed":5},)"
            R"({"paradigm":"x","seconds":5,"seed":5}])");
  EXPECT_EQ(document["summaries"][1]["paradigm"], "asp");
  EXPECT_EQ(document["summaries"][1]["seconds"]["median"], 4.5);
  EXPECT_THAT(stderr_, HasSubstr("[asp, seed 5 (run 4 of 4)] done"));
  EXPECT_THAT(programs_.File("4-asp", "result.json"), HasSubstr("\"seed\": 5"));
}

// An agent whose program says this to its log before it sleeps.
std::string AgentWhoseProgramSays(const std::string& text) {
  return absl::StrCat("while [ $# -gt 0 ]; do\n",
                      "  if [ \"$1\" = --name ]; then name=$2; fi\n",
                      "  if [ \"$1\" = --program-log ]; then log=$2; fi\n",
                      "  shift\n", "done\n", "printf '%s\\n' \"", text,
                      "\" > \"$log.tmp\"\n", "mv \"$log.tmp\" \"$log\"\n",
                      kSleep);
}

// Until the programs of both workers have said what they have to say.
constexpr char kAwaitPrograms[] =
    "until [ -e \"${2%/*}/w0.program.log\" ] && "
    "[ -e \"${2%/*}/w1.program.log\" ]; do sleep 0.01; done\n";

TEST_F(RunLocalTest, RunsAProgramInsteadOfAModel) {
  unsetenv("OMP_NUM_THREADS");
  TrainProgram();
  flags_.program.arguments = {"depth=18"};
  flags_.no_eval = true;
  programs_.Worker(AgentWhoseProgramSays("$name $OMP_NUM_THREADS"));
  programs_.Coordinator(absl::StrCat(kListening, kAwaitMembers, kAwaitPrograms,
                                     kStarted, kResult));
  EXPECT_EQ(RunAll(), 0) << stderr_;
  EXPECT_THAT(programs_.Pids("1-bsp"),
              ElementsAre(Key("coordinator"), Key("s0"), Key("w0"), Key("w1")))
      << "and nobody who evaluates";
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
  EXPECT_EQ(programs_.File("1-bsp", "w1.program.log"), "w1 1\n");
  const Json job = Json::parse(programs_.File("1-bsp", "job.json"));
  EXPECT_EQ(job["model"], "program:train");
  EXPECT_EQ(job["arguments"]["depth"], "18");
}

TEST_F(RunLocalTest, WhatAProgramSaidLastStandsBeforeTheError) {
  TrainProgram();
  programs_.Worker(AgentWhoseProgramSays("ValueError: of $name"));
  programs_.Coordinator(
      absl::StrCat(kListening, kAwaitMembers, kAwaitPrograms,
                   Tell("failed w1: the program exited with 1"), kSleep));
  EXPECT_EQ(RunAll(), 3);
  EXPECT_THAT(stderr_,
              testing::ContainsRegex("/w1.program.log ends with:\n"
                                     "  \\| ValueError: of w1\n"
                                     "paceline: bsp: w1: the program exited"));
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
}

TEST_F(RunLocalTest, AnInterruptIsNoFaultOfAProgram) {
  TrainProgram();
  programs_.Worker(AgentWhoseProgramSays("step 1"));
  programs_.Coordinator(absl::StrCat(kListening, kAwaitMembers, kAwaitPrograms,
                                     kStarted, "kill -INT $PPID\n", kSleep));
  EXPECT_EQ(RunAll(), 130);
  EXPECT_THAT(stderr_, Not(HasSubstr("ends with")));
}

TEST_F(RunLocalTest, AsksAProgramForWhatNoFlagSays) {
  flags_.program.command =
      "exec python3 " + TestDataPath("programs/line_program.py");
  flags_.program.arguments = {"optimizer=adam", "rate=0.25"};
  flags_.switch_at = {"50%=asp"};
  flags_.typed = {"--program"};
  programs_.Coordinator(absl::StrCat(kListening, kStarted, kResult));
  EXPECT_EQ(RunAll(), 0) << stderr_;
  EXPECT_THAT(stderr_,
              HasSubstr("trains with --optimizer adam --learning-rate 0.25\n"));
  const Json job = Json::parse(programs_.File("1-bsp", "job.json"));
  EXPECT_EQ(job["model"], "program:line_program");
  EXPECT_EQ(job["optimizer"], "adam");
  EXPECT_EQ(job["learning_rate"], 0.25);
  EXPECT_EQ(job["switches"][0]["samples"], "256");
}

TEST_F(RunLocalTest, AProgramThatDoesNotAnswerFailsBeforeAnythingIsStarted) {
  flags_.program.command = "echo 'no such data' >&2; exit 3";
  flags_.typed = {"--program"};
  EXPECT_EQ(RunAll(), 4);
  EXPECT_THAT(stderr_, testing::ContainsRegex(
                           "question.program.log ends with:\n"
                           "  \\| no such data\n"
                           "paceline: the program exited with 3 before it "
                           "connected: no such data\n"));
  EXPECT_TRUE(programs_.Pids("1-bsp").empty());
  EXPECT_EQ(Document(), kNoRuns);
}

TEST_F(RunLocalTest, PrintsATable) {
  programs_.Coordinator(
      absl::StrCat(kListening, kStarted,
                   Tell(R"(report {"paradigm":"cgp:beta=0.9","seconds":2})")));
  flags_.output = "table";
  flags_.paradigms = {"cgp", "cgp,batching=balanced"};
  EXPECT_EQ(RunAll(), 0);
  EXPECT_THAT(stdout_, HasSubstr("\ncgp                       2.00 "));
  EXPECT_THAT(stdout_, HasSubstr("\ncgp,batching=balanced     2.00 "));
  EXPECT_THAT(stdout_, Not(HasSubstr("beta"))) << "not as it was typed";
  EXPECT_THAT(stderr_, HasSubstr("[cgp (run 1 of 2)] done after 2.0 s"));
}

TEST_F(RunLocalTest, AFailedRunKeepsThoseThatWereFinished) {
  programs_.Coordinator(
      absl::StrCat(kListening, "if grep -q asp \"${2%/*}/job.json\"; then\n",
                   Tell("failed no data"), "exit 1\nfi\n", kStarted, kResult));
  flags_.paradigms = {"bsp", "asp", "ssp:s=1"};
  EXPECT_EQ(RunAll(), 3);
  EXPECT_EQ(Document(), kOneRun);
  EXPECT_THAT(stderr_, HasSubstr("paceline: asp (run 2 of 3): no data (logs"));
  EXPECT_THAT(stderr_, Not(HasSubstr("run 3 of 3")));
}

TEST_F(RunLocalTest, ThePortIsTaken) {
  programs_.Coordinator(R"(echo '{"level":"error","message":"in use"}' >&2)"
                        "\nexit 1\n");
  EXPECT_EQ(RunAll(), 1);
  EXPECT_THAT(stderr_, HasSubstr("coordinator ended (exit code 1: in use)"));
  EXPECT_EQ(Document(), kNoRuns);
  EXPECT_TRUE(programs_.Pids("1-bsp").empty()) << "no member was started";
}

TEST_F(RunLocalTest, TheDeathOfTheCoordinatorEndsTheRun) {
  programs_.Coordinator(
      absl::StrCat(kListening, kAwaitMembers, kStarted,
                   R"(echo '{"level":"error","message":"out of luck"}' >&2)"
                   "\n",
                   "kill -KILL $$\n"));
  EXPECT_EQ(RunAll(), 1);
  EXPECT_THAT(stderr_,
              HasSubstr("bsp: coordinator ended (killed by signal 9 (Killed): "
                        "out of luck); its log: "));
  EXPECT_THAT(stderr_, HasSubstr("coordinator.log"));
  EXPECT_FALSE(programs_.Pids("1-bsp").empty());
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
}

TEST_F(RunLocalTest, ACoordinatorThatEndsWithoutAResultFailed) {
  programs_.Coordinator(absl::StrCat(kListening, kStarted, "exit 0\n"));
  EXPECT_EQ(RunAll(), 1);
  EXPECT_THAT(stderr_, HasSubstr("coordinator ended (exit code 0)"));
}

TEST_F(RunLocalTest, TheDeathOfAServerEndsTheRun) {
  programs_.Coordinator(absl::StrCat(kListening, kStarted, kSleep));
  programs_.Server("kill -KILL $$\n");
  EXPECT_EQ(RunAll(), 1);
  EXPECT_THAT(stderr_, HasSubstr("s0 ended (killed by signal 9"));
  EXPECT_THAT(stderr_, HasSubstr("s0.log"));
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
}

TEST_F(RunLocalTest, AMemberThatFailsLetsTheCoordinatorSayWhy) {
  programs_.Coordinator(absl::StrCat(
      kListening, kAwaitMembers,
      // Only once the end of the worker has been seen.
      R"(pid=$(sed -n 's/.*"w0": \([0-9]*\).*/\1/p' "${2%/*}/processes.json"))"
      "\nwhile kill -0 $pid 2>/dev/null; do sleep 0.01; done\n",
      Tell("failed bad label"), kSleep));
  programs_.Worker("exit 1\n");
  EXPECT_EQ(RunAll(), 3);
  EXPECT_THAT(stderr_, HasSubstr("bsp: bad label"));
}

TEST_F(RunLocalTest, AWorkerThatCannotStartEndsTheRun) {
  programs_.Coordinator(absl::StrCat(kListening, kSleep));
  programs_.Worker("echo 'no memory' >&2; exit 1\n");
  timeouts_.cause = absl::Milliseconds(1);
  EXPECT_EQ(RunAll(), 1);
  EXPECT_THAT(stderr_, HasSubstr("ended (exit code 1: no memory)"));
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
}

TEST_F(RunLocalTest, TheLossOfAWorkerIsTheCoordinatorsAffair) {
  programs_.Coordinator(absl::StrCat(
      kListening, kStarted, kAwaitMembers,
      R"(pid=$(sed -n 's/.*"w1": \([0-9]*\).*/\1/p' "${2%/*}/processes.json"))"
      "\nkill -KILL $pid\n"
      // Until its end has been seen.
      "while kill -0 $pid 2>/dev/null; do sleep 0.01; done\n",
      Tell(R"(event {"decision":{"seconds":1,"worker":"w1","text":"lost"}})"),
      kResult));
  EXPECT_EQ(RunAll(), 0) << stderr_;
  EXPECT_EQ(Document(), kOneRun);
  EXPECT_THAT(stderr_, HasSubstr("w1 ended (killed by signal 9"));
  EXPECT_THAT(stderr_, HasSubstr("[bsp] 1.0 s  w1: lost\n"));
}

TEST_F(RunLocalTest, SaysWhatItWaitedForInVain) {
  timeouts_.listening = absl::Milliseconds(20);
  EXPECT_EQ(RunAll(), 6);
  EXPECT_THAT(stderr_,
              HasSubstr("waited in vain for the coordinator to listen"));
  EXPECT_EQ(Document(), kNoRuns);
}

TEST_F(RunLocalTest, NoticesACoordinatorThatFellSilent) {
  programs_.Coordinator(absl::StrCat(
      kListening, kStarted,
      Tell(R"(event {"progress":{"seconds":1,"phase":"training"}})"), kSleep));
  timeouts_.silence = absl::Milliseconds(20);
  EXPECT_EQ(RunAll(), 6);
  EXPECT_THAT(stderr_, HasSubstr("sign of life of the coordinator"));
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
}

TEST_F(RunLocalTest, NotesWhatIsNoAddress) {
  for (const std::string& line :
       {std::string("hello"), std::string("[1]"), std::string("{"),
        std::string(R"({"event":3})"), std::string(R"({"event":"listening"})"),
        std::string(R"({"event":"listening","address":7})"),
        R"({"event":"listening","address":)" + std::string(1000, '[') +
            std::string(1000, ']') + "}"}) {
    stderr_.clear();
    programs_.Coordinator(
        absl::StrCat("echo '", line, "'\n", kListening, kStarted, kResult));
    EXPECT_EQ(RunAll(), 0);
    EXPECT_THAT(stderr_,
                HasSubstr(absl::StrCat("the coordinator printed: ", line)));
  }
}

TEST_F(RunLocalTest, TrainsOnWhenNobodyReadsTheProgress) {
  programs_.Coordinator(absl::StrCat(
      kListening, kStarted,
      Tell(R"(event {"progress":{"seconds":1,"phase":"training"}})"), kResult));
  stderr_taken_ = false;
  EXPECT_EQ(RunAll(), 0);
  EXPECT_EQ(Document(), kOneRun);
}

TEST_F(RunLocalTest, AnInterruptEndsEverything) {
  for (const auto& [name, code] :
       std::map<std::string, int>{{"INT", 130}, {"TERM", 143}, {"HUP", 129}}) {
    stdout_.clear();
    programs_.Coordinator(absl::StrCat(kListening, kAwaitMembers, kStarted,
                                       "kill -", name, " $PPID\n", kSleep));
    flags_.paradigms = {"bsp", "asp"};
    EXPECT_EQ(RunAll(), code);
    EXPECT_EQ(Document(), kNoRuns);
    EXPECT_FALSE(programs_.Pids("1-bsp").empty());
    EXPECT_TRUE(programs_.AllGone("1-bsp"));
    EXPECT_TRUE(programs_.Pids("2-asp").empty()) << "no further run";
  }
}

// Ignores SIGTERM.
constexpr char kStubborn[] = "trap '' TERM\nwhile :; do sleep 0.01; done\n";

TEST_F(RunLocalTest, WhatIgnoresSigtermIsKilledAfterTheGrace) {
  programs_.Coordinator(absl::StrCat(kListening, kAwaitMembers, kStarted,
                                     "kill -INT $PPID\n", kStubborn));
  programs_.Server(kStubborn);
  timeouts_.grace = absl::Milliseconds(20);
  EXPECT_EQ(RunAll(), 130);
  EXPECT_FALSE(programs_.Pids("1-bsp").empty());
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
}

TEST_F(RunLocalTest, ASecondInterruptKillsAtOnce) {
  // The grace is minutes here; only the second interrupt can cut it short.
  programs_.Coordinator(absl::StrCat(
      kListening, kAwaitMembers, kStarted, "trap 'kill -INT $PPID' TERM\n",
      "kill -INT $PPID\nwhile :; do sleep 0.01; done\n"));
  programs_.Server(kStubborn);
  EXPECT_EQ(RunAll(), 130);
  EXPECT_TRUE(programs_.AllGone("1-bsp"));
}

TEST_F(RunLocalTest, AnOldFolderDoesNotNameStrangers) {
  programs_.Coordinator(absl::StrCat(kListening, kStarted, kResult));
  EXPECT_EQ(RunAll(), 0);
  EXPECT_FALSE(programs_.File("1-bsp", "result.json").empty());
  programs_.Coordinator("exit 1\n");
  EXPECT_EQ(RunAll(), 1);
  EXPECT_TRUE(programs_.Pids("1-bsp").empty());
  EXPECT_TRUE(programs_.File("1-bsp", "result.json").empty());
}

}  // namespace
}  // namespace paceline
