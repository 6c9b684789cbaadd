#include <signal.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/admin/output/format.h"
#include "tests/services/cli/admin/fake_cluster.h"
#include "tests/services/cli/admin/run_command.h"
#include "tests/services/cli/admin/samples.h"

// Commands that only read, against a scripted coordinator.

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ReadCommandTest : public testing::Test {
 protected:
  ReadCommandTest() {
    command_.environment["PACELINE_ADDRESS"] = cluster_.address();
    cluster_.jobs.onGetJob = [](const auto& request,
                                auto* job) -> absl::Status {
      if (request.name() != RunningJob().name()) {
        return absl::NotFoundError(absl::StrCat("no ", request.name()));
      }
      *job = RunningJob();
      return absl::OkStatus();
    };
  }

  FakeCluster cluster_;
  CommandRunner command_;
};

TEST_F(ReadCommandTest, GetJob) {
  const auto table = command_.Run("job get mnist");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("NAME "));
  EXPECT_THAT(table.err, IsEmpty());
  EXPECT_THAT(command_.Run("job get mnist --no-headers").out,
              StartsWith("mnist "));
  EXPECT_EQ(command_.Run("job get mnist -o json").out,
            *MessageToJson(RunningJob()));
  EXPECT_EQ(command_.Run("job get mnist -o yaml").out,
            *MessageToYaml(RunningJob()));
  EXPECT_EQ(command_.Run("job get mnist -oname").out,
            "namespaces/default/jobs/mnist\n");
}

// What is found is shown, and the rest is an error.
TEST_F(ReadCommandTest, PartialFailureIsFailure) {
  const auto some = command_.Run("job get nowhere mnist other -o name");
  EXPECT_EQ(some.code, 3);
  EXPECT_EQ(some.out, "namespaces/default/jobs/mnist\n");
  EXPECT_EQ(some.err,
            "paceline: nowhere: no namespaces/default/jobs/nowhere\n"
            "paceline: other: no namespaces/default/jobs/other\n");
}

TEST_F(ReadCommandTest, ListReadsAllPages) {
  std::vector<v1::ListJobsRequest> requests;
  cluster_.jobs.onListJobs = [&](const auto& request, auto* response) {
    requests.push_back(request);
    *response->add_jobs() =
        request.page_token().empty() ? RunningJob() : PendingJob();
    if (request.page_token().empty()) response->set_next_page_token("more");
  };
  const auto all =
      command_.Run("job list -A -o json --filter", {"state = RUNNING"});
  EXPECT_EQ(all.code, 0) << all.err;
  v1::ListJobsResponse want;
  *want.add_jobs() = RunningJob();
  *want.add_jobs() = PendingJob();
  EXPECT_EQ(all.out, *MessageToJson(want));
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].parent(), "namespaces/-");
  EXPECT_EQ(requests[0].filter(), "state = RUNNING");
  EXPECT_EQ(requests[0].order_by(), "name");
  EXPECT_EQ(requests[1].page_token(), "more");
  requests.clear();
  EXPECT_EQ(command_.Run("job list -n team --limit 1 -o name").out,
            "namespaces/default/jobs/mnist\n");
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].parent(), "namespaces/team");
  EXPECT_EQ(requests[0].page_size(), 1);
}

TEST_F(ReadCommandTest, ListSelectsByStateAndLabels) {
  std::string filter;
  cluster_.jobs.onListJobs = [&](const auto& request, auto*) {
    filter = request.filter();
  };
  const auto filter_of = [&](const std::vector<std::string>& flags) {
    filter.clear();
    EXPECT_EQ(command_.Run("job list", flags).code, 0);
    return filter;
  };
  EXPECT_EQ(filter_of({"--state", "running"}), "state = RUNNING");
  EXPECT_EQ(filter_of({"-l", "team=vision"}), "labels.\"team\" = \"vision\"");
  EXPECT_EQ(filter_of({"-l", "team==a\"b,tier != test,urgent"}),
            "labels.\"team\" = \"a\\\"b\" AND labels.\"tier\" != \"test\" AND "
            "labels:\"urgent\"");
  EXPECT_EQ(filter_of({"--filter", "name = a", "--state", "FAILED", "-l", "x"}),
            "name = a AND state = FAILED AND labels:\"x\"");
  for (const char* const labels : {"=vision", "!urgent", "team in (a,b)"}) {
    const auto refused = command_.Run("job list", {"-l", labels});
    EXPECT_EQ(refused.code, 2) << labels;
    EXPECT_THAT(refused.err, HasSubstr("is none; write team=vision"));
  }
}

TEST_F(ReadCommandTest, AnEmptyListSaysSoOnStderr) {
  cluster_.jobs.onListJobs = [](const auto&, auto*) {};
  const auto table = command_.Run("job list");
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.out, IsEmpty());
  EXPECT_EQ(table.err,
            "paceline: there are no such jobs in namespace default\n");
  const auto json = command_.Run("job list -o json");
  EXPECT_EQ(json.out, "{\n \"jobs\": []\n}\n");
  EXPECT_THAT(json.err, IsEmpty());
}

TEST_F(ReadCommandTest, AListWithoutEndIsGivenUp) {
  cluster_.jobs.onListJobs = [](const auto&, auto* response) {
    response->set_next_page_token("again");
  };
  const auto outcome = command_.Run("job list");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("page token twice"));
}

TEST_F(ReadCommandTest, DescribeAndReport) {
  cluster_.jobs.onListDecisions = [](const auto& request, auto* response) {
    EXPECT_EQ(request.parent(), RunningJob().name());
    for (int i = 1; i <= 30; ++i) {
      *response->add_decisions() = SampleDecision(i);
      response->mutable_decisions(i - 1)->set_text(absl::StrCat("no. ", i));
    }
  };
  cluster_.jobs.onListCheckpoints = [](const auto&, auto* response) {
    *response->add_checkpoints() = ReadyCheckpoint();
  };
  const auto described = command_.Run("job describe mnist");
  EXPECT_EQ(described.code, 0) << described.err;
  EXPECT_THAT(described.out, HasSubstr("State:          RUNNING\n"));
  EXPECT_THAT(described.out, HasSubstr("no. 30"));
  EXPECT_THAT(described.out, HasSubstr("no. 11"));
  EXPECT_THAT(described.out, testing::Not(HasSubstr("no. 10 ")));
  cluster_.jobs.onGetJobReport = [](const auto&, auto* report) {
    report->set_json("{\"seconds\": 1.50}");
  };
  EXPECT_EQ(command_.Run("job report mnist").out, "{\"seconds\": 1.50}\n");
}

TEST_F(ReadCommandTest, MetricsOfAJob) {
  cluster_.jobs.onGetJobReport = [](const auto& request, auto* report) {
    EXPECT_EQ(request.name(), RunningJob().name());
    report->set_json(R"({"accuracy": [
        {"seconds": 12.25, "version": 20, "samples": 640, "loss": 1.5}]})");
  };
  // Twelve seconds of training were over at this time.
  cluster_.jobs.onListDecisions = [](const auto&, auto* response) {
    *response->add_decisions() = SampleDecision(1);
  };
  const auto csv = command_.Run("job metrics mnist -o csv");
  EXPECT_EQ(csv.code, 0) << csv.err;
  EXPECT_EQ(csv.out,
            "time,seconds,samples,version,accuracy,loss\n"
            "2027-01-15T07:59:59.250Z,12.25,640,20,,1.5\n");
  EXPECT_THAT(command_.Run("job metrics mnist").out, StartsWith("TIME "));
  EXPECT_THAT(command_.Run("job metrics mnist -o yaml").out,
              HasSubstr("evaluations:\n  - time: "));
  const auto names = command_.Run("job metrics mnist -o name");
  EXPECT_EQ(names.code, 2);
  EXPECT_THAT(names.err, HasSubstr("use table, csv, json or yaml"));
  const auto unwritable =
      command_.Run("job metrics mnist --tensorboard /proc/none");
  EXPECT_EQ(unwritable.code, 2);
  EXPECT_THAT(unwritable.err, HasSubstr("/proc/none"));
  EXPECT_THAT(unwritable.out, IsEmpty());
  // Commands that change or show other things have no numbers.
  const auto others = command_.Run("job get mnist -o csv");
  EXPECT_EQ(others.code, 2);
  EXPECT_THAT(others.err, HasSubstr("must be one of table, wide, json, yaml"));
}

TEST_F(ReadCommandTest, MetricsOfAJobThatHasNotRun) {
  cluster_.jobs.onGetJobReport = [](const auto&, auto*) {
    return absl::FailedPreconditionError("has not begun to train yet");
  };
  const auto outcome = command_.Run("job metrics mnist");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("has not begun to train yet"));
}

TEST_F(ReadCommandTest, CompareJobs) {
  cluster_.jobs.onGetJob = [](const auto& request, auto* job) -> absl::Status {
    *job = RunningJob();
    job->set_name(request.name());
    return absl::EndsWith(request.name(), "/gone")
               ? absl::NotFoundError(absl::StrCat("no ", request.name()))
               : absl::OkStatus();
  };
  cluster_.jobs.onGetJobReport = [](const auto& request,
                                    auto* report) -> absl::Status {
    if (absl::EndsWith(request.name(), "/waits")) {
      return absl::FailedPreconditionError("has not begun to train yet");
    }
    report->set_json(R"({"seconds": 20, "accuracy": [
        {"seconds": 10, "accuracy": 0.5}, {"seconds": 20, "accuracy": 0.9}]})");
    return absl::OkStatus();
  };
  const auto both =
      command_.Run("job compare mnist waits --target accuracy>=0.7");
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out,
              HasSubstr("\n\nmnist reached accuracy>=0.7 after 15.0 s; waits "
                        "has not reached it.\n"));
  const auto csv = command_.Run("job compare mnist waits -o csv");
  EXPECT_THAT(csv.out, StartsWith("job,state,"));
  EXPECT_EQ(csv.err,
            "paceline: mnist has the best accuracy, 0.9000; waits has none.\n");
  EXPECT_THAT(command_.Run("job compare mnist waits -o json").out,
              HasSubstr("\"conclusion\": \"mnist has the best"));
  const auto partly = command_.Run("job compare mnist gone waits");
  EXPECT_EQ(partly.code, 3);
  EXPECT_THAT(partly.out, StartsWith("JOB "));
  const auto alone = command_.Run("job compare mnist gone");
  EXPECT_EQ(alone.code, 3);
  EXPECT_THAT(alone.out, IsEmpty());
  EXPECT_EQ(command_.Run("job compare mnist").code, 2);
  const auto refused = command_.Run("job compare mnist a --target high");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--target \"high\": must be METRIC<="));
}

// A column for each metric that any of the evaluations has.
TEST_F(ReadCommandTest, AccuracyAndMetrics) {
  cluster_.jobs.onListAccuracyPoints = [](const auto& request, auto* response) {
    EXPECT_EQ(request.parent(), RunningJob().name());
    v1::AccuracyPoint& first = *response->add_accuracy_points();
    first.set_seconds(1.25);
    first.set_samples(640);
    first.set_samples_discarded(64);
    first.set_version(20);
    first.set_accuracy(0.5);
    first.set_loss(1.5);
    v1::AccuracyPoint& second = *response->add_accuracy_points();
    second.set_seconds(2.5);
    second.set_samples(1280);
    second.set_version(40);
    (*second.mutable_metrics())["perplexity"] = 20.5;
  };
  EXPECT_EQ(command_.Run("job accuracy mnist").out,
            "SECONDS   SAMPLES   VERSION   ACCURACY   LOSS     PERPLEXITY\n"
            "1.2       640       20        0.5000     1.5000   <none>\n"
            "2.5       1280      40        <none>     <none>   20.5\n");
  EXPECT_EQ(command_.Run("job accuracy mnist -o csv").out,
            "seconds,samples,version,accuracy,loss,perplexity\n"
            "1.25,640,20,0.5,1.5,\n"
            "2.5,1280,40,,,20.5\n");
  EXPECT_THAT(command_.Run("job accuracy mnist -o wide").out,
              HasSubstr("SAMPLES   DISCARDED"));
  EXPECT_THAT(command_.Run("job accuracy mnist -o json").out,
              HasSubstr("\"samplesDiscarded\": \"64\""));
  EXPECT_THAT(command_.Run("job accuracy mnist -o json").out,
              HasSubstr("\"perplexity\": 20.5"));
  cluster_.jobs.onListAccuracyPoints = [](const auto&, auto*) {};
  EXPECT_THAT(command_.Run("job accuracy mnist").err,
              HasSubstr("has not been evaluated yet"));
}

TEST_F(ReadCommandTest, WorkersInTheOrderOfPeople) {
  cluster_.cluster.onListWorkers = [](const auto&, auto* response) {
    *response->add_workers() = DrainingWorker();
    *response->add_workers() = AssignedWorker();
  };
  EXPECT_EQ(command_.Run("worker list -o name").out,
            "workers/w2\nworkers/w10\n");
  EXPECT_EQ(command_.Run("worker list --pool gpu -o name").out, "workers/w2\n");
  cluster_.cluster.onGetWorker = [](const auto& request, auto* worker) {
    EXPECT_EQ(request.name(), "workers/w2");
    *worker = AssignedWorker();
  };
  EXPECT_EQ(command_.Run("worker get w2 -o yaml").out,
            *MessageToYaml(AssignedWorker()));
  EXPECT_THAT(command_.Run("worker describe workers/w2").out,
              HasSubstr("GPU:            NVIDIA H100 PCIe"));
}

TEST_F(ReadCommandTest, ServersCheckpointsAndAudit) {
  cluster_.cluster.onListServers = [](const auto&, auto* response) {
    *response->add_servers() = SampleServer();
  };
  EXPECT_THAT(command_.Run("server list").out, HasSubstr("10.0.0.7:7001"));
  cluster_.jobs.onGetCheckpoint = [](const auto& request, auto* checkpoint) {
    EXPECT_EQ(request.name(), ReadyCheckpoint().name());
    *checkpoint = ReadyCheckpoint();
  };
  EXPECT_EQ(command_.Run("checkpoint get mnist/c1 -o json").out,
            *MessageToJson(ReadyCheckpoint()));
  EXPECT_EQ(command_.Run("checkpoint get c1").code, 2);
  int pages = 0;
  cluster_.cluster.onListAuditRecords = [&](const auto& request,
                                            auto* response) {
    ++pages;
    for (int i = 0; i < request.page_size(); ++i) {
      *response->add_audit_records() = SampleRecord();
    }
    response->set_next_page_token(absl::StrCat(pages));
  };
  const auto audit = command_.Run("audit list --no-headers --limit 3");
  EXPECT_EQ(std::count(audit.out.begin(), audit.out.end(), '\n'), 3);
  EXPECT_EQ(pages, 1);
  EXPECT_EQ(command_.Run("audit list -o name").code, 2);
}

TEST_F(ReadCommandTest, TopOnceWhereThereIsNoTerminal) {
  std::string filter;
  cluster_.jobs.onListJobs = [&](const auto& request, auto* response) {
    filter = request.filter();
    *response->add_jobs() = RunningJob();
  };
  cluster_.cluster.onListWorkers = [](const auto&, auto* response) {
    *response->add_workers() = AssignedWorker();
  };
  const auto all = command_.Run("top");
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, StartsWith("1 job, 1 running; 1 worker,"));
  EXPECT_THAT(filter, HasSubstr("state != SUCCEEDED"));
  const auto one = command_.Run("top mnist");
  EXPECT_THAT(one.out, StartsWith("mnist  RUNNING"));
}

TEST_F(ReadCommandTest, TopRedrawsATerminalUntilItIsInterrupted) {
  int looks = 0;
  cluster_.jobs.onGetJob = [&](const auto&, auto* job) {
    *job = RunningJob();
    if (++looks == 3) command_.Interrupt(SIGINT);
  };
  command_.terminal = true;
  const auto outcome = command_.Run("top mnist --interval 100ms");
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, StartsWith("\x1b[Hmnist  RUNNING"));
  EXPECT_GE(looks, 3);
}

TEST_F(ReadCommandTest, StatesHaveColorsWhereTheTerminalHas) {
  command_.terminal = true;
  EXPECT_THAT(command_.Run("job get mnist").out, HasSubstr("   RUNNING   "));
  command_.color = true;
  EXPECT_THAT(command_.Run("job get mnist").out,
              HasSubstr("   \x1b[32mRUNNING\x1b[0m   "));
  EXPECT_THAT(command_.Run("job get mnist -o json").out,
              HasSubstr("\"state\": \"RUNNING\""));
}

TEST_F(ReadCommandTest, VersionAsksTheServerIfThereIsOne) {
  cluster_.cluster.onGetCluster = [](const auto&, auto* cluster) {
    cluster->set_version("9.9.9");
  };
  EXPECT_THAT(command_.Run("version").out, HasSubstr("coordinator 9.9.9\n"));
  const auto json = command_.Run("version -o json");
  EXPECT_THAT(json.out, HasSubstr("\"server\": {\n    \"version\": \"9.9.9\""));
  EXPECT_THAT(command_.Run("version -o json --client").out,
              testing::Not(HasSubstr("server")));
  cluster_.Stop();
  const auto away = command_.Run("version --request-timeout 50ms");
  EXPECT_EQ(away.code, 0);
  EXPECT_THAT(away.out, StartsWith("paceline "));
  EXPECT_THAT(away.err, StartsWith("paceline: no server version: "));
  command_.environment.clear();
  EXPECT_THAT(command_.Run("version").err, IsEmpty());
  EXPECT_EQ(command_.Run("version -o yaml").code, 2);
}

// `get -w`, `list -w` and `worker list -w` print a line for every change.
TEST_F(ReadCommandTest, WatchedLists) {
  int looks = 0;
  cluster_.jobs.onListJobs = [&](const auto&, auto* response) {
    *response->add_jobs() = PendingJob();
    if (++looks > 0) command_.Interrupt(SIGTERM);
  };
  const auto list = command_.Run("job list -w --no-headers");
  EXPECT_EQ(list.code, 143);
  cluster_.jobs.onWatchJob = [](const auto&, const auto& write) {
    v1::WatchJobResponse event;
    *event.mutable_job() = RunningJob();
    write(event);
    event.mutable_progress();
    write(event);
    *event.mutable_job() = RunningJob();
    event.mutable_job()->set_state(v1::Job::SUCCEEDED);
    write(event);
  };
  const auto get = command_.Run("job get mnist -w");
  EXPECT_EQ(get.code, 0);
  const std::vector<std::string> lines = absl::StrSplit(get.out, '\n');
  EXPECT_THAT(lines, ElementsAre(StartsWith("NAME "), HasSubstr("RUNNING"),
                                 HasSubstr("SUCCEEDED"), ""));
}

TEST_F(ReadCommandTest, Logs) {
  cluster_.cluster.onReadWorkerLog = [](const auto& request,
                                        auto* response) -> absl::Status {
    EXPECT_EQ(request.name(), "workers/w0");
    *response = SampleLog();
    const int unwanted = response->lines_size() - request.tail();
    if (request.tail() > 0) {
      response->mutable_lines()->DeleteSubrange(0, unwanted);
    }
    return absl::OkStatus();
  };
  const auto text = command_.Run("worker logs w0");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("WARNING  registering anew"));
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 4);
  const auto last = command_.Run("worker logs workers/w0 --tail 1");
  EXPECT_EQ(std::count(last.out.begin(), last.out.end(), '\n'), 1);
  EXPECT_EQ(command_.Run("worker logs w0 -o json").out,
            *MessageToJson(SampleLog()));
  EXPECT_THAT(command_.Run("worker logs w0 -o name").err,
              HasSubstr("has no name"));
  EXPECT_EQ(command_.Run("worker logs w0 --tail -1").code, 2);

  cluster_.cluster.onReadServerLog = [](const auto& request, auto* response) {
    EXPECT_EQ(request.name(), "servers/s0");
    response->Clear();
  };
  const auto none = command_.Run("server logs s0");
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, "paceline: nothing has been logged\n");
}

// The last lines first, then what is new at each look, until it is gone.
TEST_F(ReadCommandTest, LogsAreFollowed) {
  int asked = 0;
  cluster_.cluster.onReadServerLog = [&](const auto& request,
                                         auto* response) -> absl::Status {
    EXPECT_EQ(request.name(), "servers/s0");
    // All that is kept, or it could not be told what is new.
    EXPECT_EQ(request.tail(), 0);
    if (++asked > 3) return absl::NotFoundError("servers/s0 is gone");
    // The last two questions get the same answer.
    const int lines = asked == 1 ? 3 : 5;
    for (int i = 1; i <= lines; ++i) {
      v1::LogLine& line = *response->add_lines();
      line.set_message(absl::StrCat("line ", i));
      line.set_severity(v1::LogLine::INFO);
      line.set_source(v1::LogLine::PROCESS);
    }
    return absl::OkStatus();
  };
  const auto followed = command_.Run("server logs s0 -f --tail 2");
  EXPECT_EQ(followed.code, 3);
  EXPECT_EQ(followed.out,
            "- INFO     line 2\n- INFO     line 3\n- INFO     line 4\n"
            "- INFO     line 5\n");
  EXPECT_THAT(followed.err, HasSubstr("servers/s0 is gone"));
  EXPECT_EQ(asked, 4);

  EXPECT_THAT(command_.Run("server logs s0 -f -o name").err,
              HasSubstr("lines have no names"));
}

// What the coordinator says of a member is no word on the coordinator.
TEST_F(ReadCommandTest, AMemberThatDoesNotAnswer) {
  cluster_.cluster.onReadWorkerLog = [](const auto&, auto*) {
    return WithReason(absl::DeadlineExceededError("workers/w0 is silent"),
                      "MEMBER_SILENT");
  };
  EXPECT_EQ(command_.Run("worker logs w0").err,
            "paceline: workers/w0 is silent (DEADLINE_EXCEEDED: "
            "MEMBER_SILENT)\n");
}

}  // namespace
}  // namespace paceline
