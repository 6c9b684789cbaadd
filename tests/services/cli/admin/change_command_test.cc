#include <signal.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/admin/output/format.h"
#include "tests/common/test_folder.h"
#include "tests/services/cli/admin/fake_cluster.h"
#include "tests/services/cli/admin/run_command.h"
#include "tests/services/cli/admin/samples.h"

// Commands that change something, against a scripted coordinator.

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kUuid[] =
    "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";

class ChangeCommandTest : public testing::Test {
 protected:
  ChangeCommandTest() {
    command_.environment["PACELINE_ADDRESS"] = cluster_.address();
    cluster_.jobs.onCreateJob = [this](const auto& request, auto* job) {
      created_.push_back(request);
      *job = request.job();
      job->set_name(
          absl::StrCat(request.parent(), "/jobs/",
                       request.job_id().empty() ? "drawn" : request.job_id()));
      job->set_state(v1::Job::PENDING);
    };
  }

  FakeCluster cluster_;
  CommandRunner command_;
  TestFolder folder_;
  std::vector<v1::CreateJobRequest> created_;
};

TEST_F(ChangeCommandTest, CreateFromAFile) {
  const auto outcome =
      command_.Run("job create -f deploy/examples/mnist-lenet5.yaml");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job/mnist-lenet5 created\n");
  ASSERT_THAT(created_, SizeIs(1));
  EXPECT_EQ(created_[0].parent(), "namespaces/default");
  EXPECT_EQ(created_[0].job_id(), "mnist-lenet5");
  EXPECT_EQ(created_[0].job().spec().model(), "lenet5");
  EXPECT_THAT(created_[0].job().name(), IsEmpty());
  EXPECT_THAT(created_[0].request_id(), testing::ContainsRegex(kUuid));
  EXPECT_FALSE(created_[0].validate_only());
}

TEST_F(ChangeCommandTest, CreateTakesTheNameFromWhereItIsGiven) {
  struct Case {
    std::string name;
    std::string flags;
    std::string parent;
    std::string id;
  };
  const std::vector<Case> kCases = {
      {"", "", "namespaces/default", ""},
      {"", "-n team", "namespaces/team", ""},
      {"name: a", "-n team", "namespaces/team", "a"},
      {"name: namespaces/x/jobs/a", "", "namespaces/x", "a"},
      {"name: namespaces/x/jobs/a", "-n x", "namespaces/x", "a"},
      {"name: namespaces/x/jobs/a", "--name b", "namespaces/default", "b"},
  };
  for (const Case& c : kCases) {
    created_.clear();
    command_.input = absl::StrCat(c.name, "\nspec: {model: mlp}\n");
    const auto outcome =
        command_.Run(absl::StrCat("job create -f - --dry-run ", c.flags));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    ASSERT_THAT(created_, SizeIs(1));
    EXPECT_EQ(created_[0].parent(), c.parent);
    EXPECT_EQ(created_[0].job_id(), c.id);
    EXPECT_TRUE(created_[0].validate_only());
    EXPECT_THAT(outcome.out, HasSubstr(" created (dry run)\n"));
  }
  command_.input = "name: namespaces/x/jobs/a\nspec: {}";
  EXPECT_EQ(command_.Run("job create -f - -n y").code, 2);
}

TEST_F(ChangeCommandTest, FlagsTakeThePlaceOfWhatTheFileSays) {
  command_.input =
      "name: a\n"
      "spec:\n"
      "  model: program:resnet\n"
      "  data: program\n"
      "  arguments: {depth: '18', width: '2'}\n";
  const auto outcome = command_.Run(
      "job create -f - --data stream --argument depth=34 --argument note=a=b");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_THAT(created_, SizeIs(1));
  const v1::JobSpec& spec = created_[0].job().spec();
  EXPECT_EQ(spec.model(), "program:resnet");
  EXPECT_EQ(spec.data(), "stream");
  EXPECT_THAT(spec.arguments(), SizeIs(3));
  EXPECT_EQ(spec.arguments().at("depth"), "34");
  EXPECT_EQ(spec.arguments().at("width"), "2");
  EXPECT_EQ(spec.arguments().at("note"), "a=b");
}

TEST_F(ChangeCommandTest, CreateWithoutAFile) {
  const auto outcome = command_.Run(
      "job create --model program:resnet --data program --name own");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job/own created\n");
  ASSERT_THAT(created_, SizeIs(1));
  EXPECT_EQ(created_[0].job_id(), "own");
  EXPECT_EQ(created_[0].job().spec().model(), "program:resnet");
  const auto nothing = command_.Run("job create --data program");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("a file with -f, or a model"));
}

TEST_F(ChangeCommandTest, CreateAndWatch) {
  std::vector<std::string> watched;
  cluster_.jobs.onWatchJob = [&](const auto& request, const auto& write) {
    watched.push_back(request.name());
    v1::WatchJobResponse event;
    *event.mutable_job() = RunningJob();
    event.mutable_job()->set_name(request.name());
    event.mutable_job()->set_state(v1::Job::SUCCEEDED);
    write(event);
    return absl::OkStatus();
  };
  cluster_.jobs.onListCheckpoints = [](const auto&, auto*) {};
  const auto outcome = command_.Run("job create --model mlp --name own -w");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("job/own created\n"));
  EXPECT_THAT(outcome.out, HasSubstr("SUCCEEDED"));
  EXPECT_THAT(watched, ElementsAre("namespaces/default/jobs/own"));

  const std::string two =
      folder_.Write("two.yaml", "name: a\nspec: {}\n---\nname: b\nspec: {}\n");
  for (const auto& [flags, says] :
       std::vector<std::pair<std::string, std::string>>{
           {absl::StrCat("-f ", two), "--watch is about one job"},
           {"--model mlp --dry-run", "--watch contradicts --dry-run"},
           {"--model mlp -o name", "--watch contradicts -o name"}}) {
    const auto refused = command_.Run(absl::StrCat("job create -w ", flags));
    EXPECT_EQ(refused.code, 2) << flags;
    EXPECT_THAT(refused.err, HasSubstr(says)) << flags;
  }
  EXPECT_THAT(created_, SizeIs(1));
}

TEST_F(ChangeCommandTest, WrongArguments) {
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"--argument depth", "--argument \"depth\": must be KEY=VALUE"},
      {"--argument =18", "the key is \"\"; want 1 to 63 letters"},
      {"--argument a/b=18", "the key is \"a/b\"; want 1 to 63 letters"},
      {"--argument a=1 --argument a=2", "--argument a is given twice"},
  };
  for (const auto& [flags, says] : kCases) {
    const auto outcome = command_.Run(
        absl::StrCat("job create --model program:x --data program ", flags));
    EXPECT_EQ(outcome.code, 2) << flags;
    EXPECT_THAT(outcome.err, HasSubstr(says)) << flags;
  }
  EXPECT_THAT(created_, IsEmpty());
}

// Each job is for itself; the first error is the exit code.
TEST_F(ChangeCommandTest, CreateGoesOnAfterAnError) {
  const std::string bad = folder_.Write("bad.yaml", "spec:\n  modle: x\n");
  const std::string two =
      folder_.Write("two.yaml", "name: a\nspec: {}\n---\nname: b\nspec: {}\n");
  const auto outcome = command_.Run(
      absl::StrCat("job create -f ", bad, " -f ", two, " -f /nowhere.yaml"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "job/a created\njob/b created\n");
  EXPECT_EQ(outcome.err,
            absl::StrCat("paceline: ", bad,
                         ": refused (INVALID_ARGUMENT: INVALID_FIELD)\n"
                         "  line 2: spec.modle: there is no such field; did "
                         "you mean model?\n"
                         "paceline: /nowhere.yaml: no such file\n"));
  EXPECT_EQ(command_.Run(absl::StrCat("job create --name x -f ", two)).code, 2);
}

// Neither the next job nor the next file is begun.
TEST_F(ChangeCommandTest, CreateEndsWhenItIsInterrupted) {
  cluster_.jobs.onCreateJob = [&](const auto& request, auto* job) {
    created_.push_back(request);
    job->set_name(absl::StrCat(request.parent(), "/jobs/", request.job_id()));
    command_.Interrupt(SIGINT);
  };
  const std::string two =
      folder_.Write("two.yaml", "name: a\nspec: {}\n---\nname: b\nspec: {}\n");
  const auto outcome =
      command_.Run(absl::StrCat("job create -f ", two, " -f /nowhere.yaml"));
  cluster_.Stop();  // The handler is done with what is ours.
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(created_, SizeIs(1));
}

TEST_F(ChangeCommandTest, ARetryIsTheSameRequest) {
  int calls = 0;
  cluster_.jobs.onPauseJob = [&](const auto& request,
                                 auto* job) -> absl::Status {
    static std::string* const first = new std::string();
    if (++calls < 3) {
      *first = request.request_id();
      return absl::UnavailableError("starting");
    }
    EXPECT_EQ(request.request_id(), *first);
    *job = RunningJob();
    job->set_state(v1::Job::PAUSING);
    return absl::OkStatus();
  };
  const auto outcome = command_.Run("job pause mnist");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job/mnist pausing\n");
  EXPECT_EQ(calls, 3);
}

TEST_F(ChangeCommandTest, OnlyUnavailableIsTriedAgain) {
  for (absl::StatusCode code :
       {absl::StatusCode::kInternal, absl::StatusCode::kAborted,
        absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kUnknown,
        absl::StatusCode::kResourceExhausted}) {
    int calls = 0;
    cluster_.jobs.onResumeJob = [&](const auto&, auto*) {
      ++calls;
      return absl::Status(code, "no");
    };
    EXPECT_NE(command_.Run("job resume mnist").code, 0);
    EXPECT_EQ(calls, 1) << absl::StatusCodeToString(code);
  }
}

TEST_F(ChangeCommandTest, Verbs) {
  const auto answer = [](v1::Job::State state) {
    return [state](const auto& request, v1::Job* job) {
      EXPECT_EQ(request.name(), RunningJob().name());
      EXPECT_EQ(request.etag(), "7");
      EXPECT_TRUE(request.validate_only());
      EXPECT_THAT(request.request_id(), testing::Not(IsEmpty()));
      *job = RunningJob();
      job->set_state(state);
      job->set_restore_from(ReadyCheckpoint().name());
      return absl::OkStatus();
    };
  };
  cluster_.jobs.onPauseJob = answer(v1::Job::PAUSING);
  cluster_.jobs.onResumeJob = answer(v1::Job::PENDING);
  cluster_.jobs.onCancelJob = answer(v1::Job::CANCELLING);
  cluster_.jobs.onSwitchParadigm = [base = answer(v1::Job::RUNNING)](
                                       const auto& request, auto* job) {
    EXPECT_EQ(request.paradigm(), "cgp");
    EXPECT_EQ(request.reason(), "one slow worker");
    return base(request, job);
  };
  cluster_.jobs.onRestoreJob = [base = answer(v1::Job::PENDING)](
                                   const auto& request, auto* job) {
    EXPECT_EQ(request.checkpoint(), ReadyCheckpoint().name());
    return base(request, job);
  };
  const auto run = [&](const std::string& line,
                       const std::vector<std::string>& further = {}) {
    const auto outcome =
        command_.Run(absl::StrCat(line, " --etag 7 --dry-run"), further);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(run("job pause mnist"), "job/mnist pausing (dry run)\n");
  EXPECT_EQ(run("job resume mnist"), "job/mnist pending (dry run)\n");
  EXPECT_EQ(run("job cancel mnist"), "job/mnist cancelling (dry run)\n");
  EXPECT_EQ(
      run("job switch mnist --paradigm cgp", {"--reason", "one slow worker"}),
      "job/mnist switched to cgp (dry run)\n");
  EXPECT_EQ(run("job switch mnist cgp", {"--reason", "one slow worker"}),
            "job/mnist switched to cgp (dry run)\n");
  EXPECT_EQ(run("job restore mnist --checkpoint c1"),
            "job/mnist restored from checkpoint c1 (dry run)\n");
  EXPECT_EQ(run("job pause mnist -o name"), "namespaces/default/jobs/mnist\n");
}

TEST_F(ChangeCommandTest, UpdateSendsTheMaskAndKeepsOtherLabels) {
  cluster_.jobs.onGetJob.Gives(RunningJob());
  v1::UpdateJobRequest sent;
  cluster_.jobs.onUpdateJob = [&](const auto& request, auto* job) {
    sent = request;
    *job = RunningJob();
  };
  const auto outcome = command_.Run(
      "job update mnist --set spec.learning_rate=0.01 --set labels.team=nlp");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job/mnist updated\n");
  EXPECT_THAT(sent.update_mask().paths(),
              ElementsAre("spec.learning_rate", "labels"));
  EXPECT_EQ(sent.job().name(), RunningJob().name());
  EXPECT_EQ(sent.job().etag(), "7");
  EXPECT_EQ(sent.job().labels().at("team"), "nlp");
  EXPECT_EQ(sent.job().labels().at("cost-centre"), "12");
  command_.Run("job update mnist --set spec.learning_rate=0.02");
  EXPECT_THAT(sent.job().etag(), IsEmpty());
  EXPECT_EQ(command_.Run("job update mnist --set spec.lr=1").code, 2);
}

// Somebody at the terminal is asked; a script is not.
TEST_F(ChangeCommandTest, DestructiveCommandsAsk) {
  int deleted = 0;
  cluster_.jobs.onDeleteJob = [&](const auto&, auto*) { ++deleted; };
  const std::vector<std::tuple<std::optional<std::string>, std::string, int>>
      kCases = {
          {std::nullopt, "", 0}, {"y", "", 0},   {" Yes ", "", 0},
          {"n", "", 4},          {"", "", 4},    {"n", " --yes", 0},
          {"n", " -y", 0},       {"yep", "", 4}, {"n", " --dry-run", 0},
      };
  for (const auto& [answer, flags, code] : kCases) {
    deleted = 0;
    command_.answer = answer;
    const auto outcome = command_.Run(absl::StrCat("job delete mnist", flags));
    EXPECT_EQ(outcome.code, code) << answer.value_or("-") << flags;
    EXPECT_EQ(deleted, code == 0 ? 1 : 0);
    const bool asked = answer.has_value() && flags.empty();
    EXPECT_EQ(absl::StrContains(outcome.err, "[y/N]"), asked) << outcome.err;
  }
  command_.answer = "n";
  EXPECT_EQ(command_.Run("job cancel mnist").code, 4);
  EXPECT_EQ(command_.Run("checkpoint delete mnist/c1").code, 4);
}

// After a try whose answer was lost NOT_FOUND is no error: the job is gone.
TEST_F(ChangeCommandTest, ADeleteThatIsRepeatedMayFindNothing) {
  int tries = 0;
  const auto answer = [&](const auto&, google::protobuf::Empty*) {
    return ++tries == 1 ? absl::UnavailableError("away")
                        : absl::NotFoundError("there is none");
  };
  cluster_.jobs.onDeleteJob = answer;
  cluster_.jobs.onDeleteCheckpoint = answer;
  for (const auto& [line, subject] :
       {std::pair<std::string, std::string>("job delete typo", "job/typo"),
        {"checkpoint delete mnist/typo", "checkpoint/mnist/typo"}}) {
    tries = 0;
    const auto repeated = command_.Run(line);
    EXPECT_EQ(repeated.code, 0) << repeated.err;
    EXPECT_EQ(repeated.out, absl::StrCat(subject, " is not there any more\n"));
    // A dry run deletes nothing, however often it is tried.
    tries = 0;
    const auto dry = command_.Run(absl::StrCat(line, " --dry-run"));
    EXPECT_EQ(dry.code, 3);
    EXPECT_THAT(dry.out, IsEmpty());
    EXPECT_EQ(tries, 2);
    // At the first try it is an error.
    EXPECT_EQ(command_.Run(line).code, 3);
    EXPECT_EQ(tries, 3);
  }
}

TEST_F(ChangeCommandTest, Checkpoints) {
  int asked = 0;
  std::string directory;
  v1::Checkpoint writing = ReadyCheckpoint();
  writing.set_state(v1::Checkpoint::WRITING);
  cluster_.jobs.onCreateCheckpoint = [&](const auto& request,
                                         auto* checkpoint) {
    EXPECT_EQ(request.parent(), RunningJob().name());
    EXPECT_EQ(request.checkpoint_id(), "c1");
    directory = request.directory();
    *checkpoint = writing;
  };
  EXPECT_EQ(
      command_.Run("checkpoint create mnist --name c1 --directory /more").out,
      "checkpoint/mnist/c1 begun\n");
  EXPECT_EQ(directory, "/more");
  EXPECT_EQ(command_.Run("checkpoint create mnist --name c1").out,
            "checkpoint/mnist/c1 begun\n");
  EXPECT_EQ(directory, "");
  cluster_.jobs.onGetCheckpoint = [&](const auto&, auto* checkpoint) {
    *checkpoint = ++asked < 2 ? writing : ReadyCheckpoint();
  };
  EXPECT_EQ(command_.Run("checkpoint create mnist --name c1 --wait").out,
            "checkpoint/mnist/c1 ready\n");
  EXPECT_EQ(asked, 2);

  cluster_.jobs.onCreateCheckpoint = [&](const auto&, auto* checkpoint) {
    // One of the job's interval is in the middle.
    if (asked++ == 2) {
      return WithReason(absl::FailedPreconditionError("wait"),
                        kCheckpointBeingWritten);
    }
    *checkpoint = writing;
    return absl::OkStatus();
  };
  const auto refused = command_.Run("checkpoint create mnist --name c1");
  EXPECT_EQ(refused.err,
            "paceline: wait (FAILED_PRECONDITION: CHECKPOINT_BEING_WRITTEN)\n");
  asked = 2;
  const auto waited = command_.Run("checkpoint create mnist --name c1 --wait");
  EXPECT_EQ(waited.out, "checkpoint/mnist/c1 ready\n");
  EXPECT_THAT(waited.err, HasSubstr("another checkpoint of the job"));

  cluster_.jobs.onGetCheckpoint = [&](const auto&, auto* checkpoint) {
    checkpoint->set_name(writing.name());
    checkpoint->set_state(v1::Checkpoint::FAILED);
    checkpoint->set_state_reason("disk full");
  };
  const auto failed = command_.Run("checkpoint create mnist --name c1 --wait");
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.err,
            "paceline: checkpoint/mnist/c1 could not be written: disk full\n");
}

TEST_F(ChangeCommandTest, CheckpointFolders) {
  EXPECT_EQ(command_.Run("checkpoint verify /nowhere").code, 3);
  EXPECT_EQ(command_
                .Run(absl::StrCat("checkpoint export /nowhere -o ",
                                  folder_.Path("model")))
                .code,
            3);
  const std::string broken = folder_.Path("c1");
  std::filesystem::create_directory(broken);
  std::ofstream(broken + "/manifest.json") << "{";
  const auto outcome = command_.Run(absl::StrCat("checkpoint verify ", broken));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("manifest.json"));
}

TEST_F(ChangeCommandTest, DrainAndUndrain) {
  cluster_.cluster.onDrainWorker = [](const auto& request,
                                      auto* worker) -> absl::Status {
    if (request.name() == "workers/w9") return absl::NotFoundError("no w9");
    *worker = DrainingWorker();
    return absl::OkStatus();
  };
  const auto outcome = command_.Run("worker drain w10 w9");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "worker/w10 draining\n");
  EXPECT_EQ(outcome.err, "paceline: w9: no w9\n");
  cluster_.cluster.onUndrainWorker.Gives(AssignedWorker());
  EXPECT_EQ(command_.Run("worker undrain w2").out, "worker/w2 undrained\n");
}

TEST_F(ChangeCommandTest, Contexts) {
  command_.environment.clear();
  command_.environment["PACELINE_CONFIG"] = folder_.Path("config.yaml");
  EXPECT_EQ(command_.Run("config current-context").code, 3);
  EXPECT_EQ(command_.Run("config use-context lab").code, 3);
  EXPECT_EQ(command_
                .Run(absl::StrCat("config set-context lab --address ",
                                  cluster_.address(), " -n vision"))
                .out,
            "context lab created, it is current\n");
  EXPECT_EQ(command_.Run("config set-context other --address x:1").code, 0);
  EXPECT_EQ(command_.Run("config current-context").out, "lab\n");
  EXPECT_EQ(command_.Run("config use-context other").code, 0);
  EXPECT_EQ(command_.Run("config use-context lab").code, 0);
  EXPECT_EQ(command_.Run("config current-context").out, "lab\n");
  EXPECT_EQ(command_.Run("config get-contexts").out,
            absl::StrCat("CURRENT   NAME    ADDRESS           NAMESPACE\n",
                         "*         lab     ", cluster_.address(),
                         "   vision\n", "-         other   x:1",
                         std::string(cluster_.address().size() - 3, ' '),
                         "   <none>\n"))
      << cluster_.address();
  const auto viewed = command_.Run("config view");
  EXPECT_EQ(viewed.out, absl::StrCat("current-context: lab\n"
                                     "contexts:\n"
                                     "  lab:\n"
                                     "    address: \"",
                                     cluster_.address(),
                                     "\"\n"
                                     "    namespace: vision\n"
                                     "  other:\n"
                                     "    address: \"x:1\"\n"));
  EXPECT_THAT(viewed.err, HasSubstr("config.yaml"));
  // It is used.
  command_.input = "spec: {}";
  EXPECT_EQ(command_.Run("job create -f -").code, 0);
  ASSERT_THAT(created_, SizeIs(1));
  EXPECT_EQ(created_[0].parent(), "namespaces/vision");
  EXPECT_EQ(command_.Run("config set-context lab --request-timeout x").code, 2);
  EXPECT_EQ(
      command_.Run(absl::StrCat("config set-context ", std::string(200, 'x')))
          .code,
      2);
  EXPECT_EQ(command_.Run("config set-context lab --address a\tb:1").code, 2);
  EXPECT_EQ(command_.Run("config delete-context lab").code, 0);
  EXPECT_EQ(command_.Run("config current-context").code, 3);
  EXPECT_EQ(command_.Run("config delete-context lab").code, 3);
}

}  // namespace
}  // namespace paceline
