#include <signal.h>

#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/admin/output/format.h"
#include "tests/services/cli/admin/fake_cluster.h"
#include "tests/services/cli/admin/run_command.h"
#include "tests/services/cli/admin/samples.h"

// Commands that follow a job's stream: watch, wait, logs.

namespace paceline {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using WriteEvent = FakeJobService::WriteEvent;

v1::WatchJobResponse JobEvent(v1::Job::State state, const std::string& token) {
  v1::WatchJobResponse event;
  *event.mutable_job() = RunningJob();
  event.mutable_job()->set_state(state);
  event.set_resume_token(token);
  return event;
}

v1::WatchJobResponse DecisionEvent(int64_t sequence) {
  v1::WatchJobResponse event;
  *event.mutable_decision() = SampleDecision(sequence);
  event.set_resume_token(absl::StrCat("d", sequence));
  return event;
}

class FollowCommandTest : public testing::Test {
 protected:
  FollowCommandTest() {
    command_.environment["PACELINE_ADDRESS"] = cluster_.address();
  }

  // Every stream has the same events, and ends so.
  void Script(std::vector<v1::WatchJobResponse> events,
              absl::Status end = absl::OkStatus()) {
    cluster_.jobs.onWatchJob = [events, end](const auto&, const auto& write) {
      for (const v1::WatchJobResponse& event : events) write(event);
      return end;
    };
  }

  FakeCluster cluster_;
  CommandRunner command_;
};

TEST_F(FollowCommandTest, WatchAsLines) {
  v1::WatchJobResponse progress;
  *progress.mutable_progress() = RunningJob().progress();
  v1::WatchJobResponse accuracy;
  accuracy.mutable_accuracy()->set_accuracy(0.9);
  accuracy.mutable_accuracy()->set_loss(0);
  accuracy.mutable_accuracy()->set_version(180);
  v1::WatchJobResponse checkpoint;
  *checkpoint.mutable_checkpoint() = ReadyCheckpoint();
  cluster_.jobs.onListCheckpoints = [](const auto&, auto* response) {
    response->add_checkpoints()->set_state(v1::Checkpoint::FAILED);
    *response->add_checkpoints() = ReadyCheckpoint();
  };
  Script({JobEvent(v1::Job::RUNNING, "1"), progress, accuracy, DecisionEvent(1),
          checkpoint, v1::WatchJobResponse(),
          JobEvent(v1::Job::SUCCEEDED, "2")});
  const auto outcome = command_.Run("job watch mnist");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(
      outcome.out,
      "state RUNNING\n"
      "[mnist] paradigm dssp:lower=3,upper=15\n"
      "[mnist] 12.5 s  training  43 %  129999/300000 samples  accuracy "
      "0.912  loss 0.310  perplexity 20.31  top5 0.9871  10400 samples/s "
      " left 16.3 s | w0 computing "
      "clock 1000 gap 1 waited 0.12 s | w2 waiting clock 998 gap -1 "
      "waited 75.2 s\n"
      "[mnist] 0.0 s  evaluated version 180 (0 samples): accuracy "
      "0.9000, loss 0.000\n"
      "[mnist] 12.0 s  w2: takes 4.02 times as long as the median\n"
      "checkpoint c1 READY: version 4000, 128000 samples, 482.1 KiB in "
      "0.42 s\n"
      "state SUCCEEDED\n"
      "mnist SUCCEEDED with accuracy 0.9123, training loss 0.3100, perplexity "
      "20.31, top5 0.9871, 129999 samples in 12.5 s of training; weights "
      "in /var/lib/paceline/checkpoints/mnist/c1 (checkpoint c1)\n");
}

// A terminal shows no less than what a pipe gets.
TEST_F(FollowCommandTest, WatchOnATerminal) {
  v1::WatchJobResponse progress;
  *progress.mutable_progress() = RunningJob().progress();
  v1::WatchJobResponse accuracy;
  accuracy.mutable_accuracy()->set_accuracy(0.9);
  cluster_.jobs.onListCheckpoints.Gives(v1::ListCheckpointsResponse());
  Script({JobEvent(v1::Job::RUNNING, "1"), progress, accuracy, DecisionEvent(1),
          JobEvent(v1::Job::FAILED, "2")});
  command_.terminal = true;
  command_.color = true;
  const auto outcome = command_.Run("job watch mnist");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* const text :
       {"\n[mnist] paradigm dssp:lower=3,upper=15\n",
        "\n  129999 of 300000 samples  dssp:lower=3,upper=15\n",
        "waited 75.2 s  STRAGGLER",
        "[mnist] 0.0 s  evaluated version 0 (0 samples): accuracy 0.9000\n",
        "[mnist] 12.0 s  w2: takes 4.02 times as long as the median\n",
        "mnist \x1b[31mFAILED\x1b[0m with accuracy 0.9123, training loss "
        "0.3100, "
        "perplexity 20.31, top5 0.9871, 129999 samples in 12.5 s of training; "
        "no weights are saved\n"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST_F(FollowCommandTest, WatchAsDocuments) {
  const v1::WatchJobResponse first = JobEvent(v1::Job::RUNNING, "1");
  const v1::WatchJobResponse second = JobEvent(v1::Job::FAILED, "2");
  Script({first, second});
  EXPECT_EQ(command_.Run("job watch mnist -o json").out,
            absl::StrCat(*MessageToJson(first), *MessageToJson(second)));
  EXPECT_EQ(
      command_.Run("job watch mnist -o yaml").out,
      absl::StrCat(*MessageToYaml(first), "---\n", *MessageToYaml(second)));
  EXPECT_EQ(command_.Run("job watch mnist -o name").code, 2);
}

TEST_F(FollowCommandTest, WatchResumesWhereItWas) {
  std::vector<std::string> tokens;
  cluster_.jobs.onWatchJob = [&](const auto& request,
                                 const auto& write) -> absl::Status {
    tokens.push_back(request.resume_token());
    switch (tokens.size()) {
      case 1:
        write(JobEvent(v1::Job::RUNNING, "one"));
        return absl::UnavailableError("restarting");
      case 2:
        return absl::UnavailableError("starting");
      case 3:
        // The new coordinator does not know the old one's tokens.
        return absl::InvalidArgumentError("no such token");
      default:
        write(JobEvent(v1::Job::SUCCEEDED, "two"));
        return absl::OkStatus();
    }
  };
  const auto outcome = command_.Run("job watch mnist");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(tokens, ElementsAre("", "one", "one", ""));
  EXPECT_THAT(outcome.out,
              StartsWith("state RUNNING\nstate SUCCEEDED\nmnist SUCCEEDED "));
  // Only the summary asks for that.
  EXPECT_THAT(outcome.out, HasSubstr("its checkpoints are not known: "));
}

TEST_F(FollowCommandTest, WatchOutlivesARestartOfTheServer) {
  absl::Notification seen;
  int streams = 0;
  cluster_.jobs.onWatchJob = [&](const auto& request,
                                 const auto& write) -> absl::Status {
    if (++streams > 1) {
      EXPECT_THAT(request.resume_token(), AnyOf("one", "d1"));
      write(JobEvent(v1::Job::SUCCEEDED, "two"));
      return absl::OkStatus();
    }
    write(JobEvent(v1::Job::RUNNING, "one"));
    seen.Notify();
    // Until the server stops.
    while (write(DecisionEvent(1))) {
    }
    return absl::OkStatus();
  };
  std::thread restart([&] {
    seen.WaitForNotification();
    cluster_.Stop();
    cluster_.Start();
  });
  const auto outcome = command_.Run("job watch mnist -o json");
  restart.join();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("SUCCEEDED"));
}

TEST_F(FollowCommandTest, WatchIsInterrupted) {
  absl::Notification done;
  cluster_.jobs.onWatchJob = [&](const auto&,
                                 const auto& write) -> absl::Status {
    write(JobEvent(v1::Job::RUNNING, "one"));
    command_.Interrupt(SIGINT);
    // The call ends, though the server has more to say.
    while (write(DecisionEvent(1))) {
    }
    done.Notify();
    return absl::OkStatus();
  };
  const auto outcome = command_.Run("job watch mnist");
  EXPECT_EQ(outcome.code, 130);
  EXPECT_THAT(outcome.err, IsEmpty());
  done.WaitForNotification();
}

TEST_F(FollowCommandTest, WatchEndsWhenNobodyReads) {
  cluster_.jobs.onWatchJob = [](const auto&, const auto& write) {
    write(JobEvent(v1::Job::RUNNING, "one"));
    while (write(DecisionEvent(1))) {
    }
  };
  command_.writes_max = 3;
  for (const char* format : {"table", "json"}) {
    const auto outcome =
        command_.Run(absl::StrCat("job watch mnist -o ", format));
    EXPECT_EQ(outcome.code, 1) << format;
    EXPECT_THAT(outcome.err, IsEmpty()) << format;
  }
}

TEST_F(FollowCommandTest, WatchSaysWhyNothingCanBeWritten) {
  cluster_.jobs.onWatchJob = [](const auto&, const auto& write) {
    write(JobEvent(v1::Job::RUNNING, "one"));
    while (write(DecisionEvent(1))) {
    }
  };
  command_.writes_max = 0;
  command_.write_error = ENOSPC;
  for (const char* format : {"table", "json"}) {
    const auto outcome =
        command_.Run(absl::StrCat("job watch mnist -o ", format));
    EXPECT_EQ(outcome.code, 1) << format;
    EXPECT_EQ(outcome.err,
              "paceline: cannot write the output: No space left on device\n")
        << format;
  }
}

TEST_F(FollowCommandTest, Wait) {
  struct Case {
    std::vector<v1::Job::State> states;
    std::string condition;
    int code;
    std::string text;
  };
  const std::vector<Case> kCases = {
      {{v1::Job::PENDING, v1::Job::RUNNING},
       "state=RUNNING",
       0,
       "condition met"},
      {{v1::Job::PENDING, v1::Job::SUCCEEDED},
       "state=succeeded",
       0,
       "condition met"},
      {{v1::Job::SUCCEEDED}, "state=SUCCEEDED", 0, "condition met"},
      {{v1::Job::RUNNING, v1::Job::FAILED},
       "state=SUCCEEDED",
       1,
       "has ended as FAILED"},
      {{v1::Job::CANCELLED}, "state=SUCCEEDED", 1, "has ended as CANCELLED"},
      {{v1::Job::SUCCEEDED}, "state=FAILED", 1, "has ended as SUCCEEDED"},
      {{}, "state=DONE", 2, "--for \"state=DONE\""},
      {{}, "SUCCEEDED", 2, "--for \"SUCCEEDED\""},
      {{}, "state=STATE_UNSPECIFIED", 2, "--for"},
  };
  for (const Case& c : kCases) {
    std::vector<v1::WatchJobResponse> events;
    events.reserve(c.states.size());
    for (v1::Job::State state : c.states) {
      events.push_back(JobEvent(state, "t"));
    }
    Script(events);
    const auto outcome =
        command_.Run(absl::StrCat("job wait mnist --for=", c.condition));
    EXPECT_EQ(outcome.code, c.code) << outcome.err;
    EXPECT_THAT(absl::StrCat(outcome.out, outcome.err), HasSubstr(c.text));
  }
}

TEST_F(FollowCommandTest, WaitIsTooLate) {
  cluster_.jobs.onWatchJob = [&](const auto&, const auto& write) {
    write(JobEvent(v1::Job::RUNNING, "one"));
    while (write(DecisionEvent(1))) {
    }
  };
  cluster_.jobs.onGetJob.Gives(RunningJob());
  const auto outcome =
      command_.Run("job wait mnist --for=state=SUCCEEDED --timeout=300ms");
  EXPECT_EQ(outcome.code, 6);
  EXPECT_EQ(outcome.err, "paceline: job/mnist: not in time, it is RUNNING\n");
  EXPECT_EQ(command_.Run("job wait mnist --for=delete --timeout=x").code, 2);
}

// One job uses the time up; what the others are is judged all the same.
TEST_F(FollowCommandTest, WaitJudgesWhatNoTimeIsLeftFor) {
  absl::Notification over;
  cluster_.jobs.onWatchJob = [&](const auto&, const auto& write) {
    write(JobEvent(v1::Job::RUNNING, "one"));
    over.WaitForNotification();
  };
  cluster_.jobs.onGetJob = [](const auto& request, auto* job) -> absl::Status {
    if (absl::EndsWith(request.name(), "/gone")) {
      return absl::NotFoundError("there is none");
    }
    *job = RunningJob();
    job->set_name(request.name());
    if (absl::EndsWith(request.name(), "/done")) {
      job->set_state(v1::Job::SUCCEEDED);
    } else if (absl::EndsWith(request.name(), "/failed")) {
      job->set_state(v1::Job::FAILED);
    }
    return absl::OkStatus();
  };
  const auto states = command_.Run(
      "job wait slow done failed gone --for=state=SUCCEEDED --timeout=100ms");
  EXPECT_EQ(states.code, 6);
  EXPECT_EQ(states.out, "job/done condition met\n");
  EXPECT_EQ(states.err,
            "paceline: slow: job/slow: not in time, it is RUNNING\n"
            "paceline: failed: job/failed has ended as FAILED\n"
            "paceline: gone: there is none\n");
  const auto deleted =
      command_.Run("job wait done gone --for=delete --timeout=100ms");
  EXPECT_EQ(deleted.code, 6);
  EXPECT_EQ(deleted.out, "job/gone deleted\n");
  EXPECT_EQ(deleted.err,
            "paceline: done: job/done: not in time, it is SUCCEEDED\n");
  over.Notify();
  cluster_.Stop();  // The handlers are done with what is ours.
}

TEST_F(FollowCommandTest, WaitForDeletion) {
  int streams = 0;
  cluster_.jobs.onWatchJob = [&](const auto&,
                                 const auto& write) -> absl::Status {
    if (++streams > 1) return absl::NotFoundError("deleted");
    write(JobEvent(v1::Job::CANCELLED, "one"));
    return absl::OkStatus();
  };
  const auto outcome = command_.Run("job wait mnist --for=delete");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job/mnist deleted\n");
  EXPECT_EQ(command_.Run("job wait mnist --for=state=SUCCEEDED").code, 3);
}

TEST_F(FollowCommandTest, Logs) {
  cluster_.jobs.onListDecisions = [](const auto& request, auto* response) {
    const bool first = request.page_token().empty();
    *response->add_decisions() = SampleDecision(first ? 1 : 2);
    if (first) response->set_next_page_token("2");
  };
  const std::string line =
      "2027-01-15T07:59:59Z  12.0 s  w2  straggler  takes 4.02 times as long "
      "as the median (3 more like it)\n";
  EXPECT_EQ(command_.Run("job logs mnist").out, absl::StrCat(line, line));
  // Those that are in the record and in the stream come once.
  Script({JobEvent(v1::Job::RUNNING, "1"), DecisionEvent(2), DecisionEvent(3)});
  EXPECT_EQ(command_.Run("job logs mnist -f -o json").out,
            absl::StrCat(*MessageToJson(SampleDecision(1)),
                         *MessageToJson(SampleDecision(2)),
                         *MessageToJson(SampleDecision(3))));
}

// Of `sequences`, as `job logs -o json` writes them.
std::string Decisions(const std::vector<int64_t>& sequences) {
  std::string text;
  for (const int64_t sequence : sequences) {
    absl::StrAppend(&text, *MessageToJson(SampleDecision(sequence)));
  }
  return text;
}

// A reader that fell behind misses events, and a new coordinator begins anew:
// what the stream does not say is in the record.
TEST_F(FollowCommandTest, LogsReadTheRecordWhereTheStreamHasAGap) {
  std::atomic<int> recorded = 0;
  cluster_.jobs.onListDecisions = [&](const auto&, auto* response) {
    for (int i = 1; i <= recorded; ++i) {
      *response->add_decisions() = SampleDecision(i);
    }
  };
  int streams = 0;
  cluster_.jobs.onWatchJob = [&](const auto& request,
                                 const auto& write) -> absl::Status {
    switch (++streams) {
      case 1:
        recorded = 1;
        write(JobEvent(v1::Job::RUNNING, "1"));
        return absl::UnavailableError("the record has been read");
      case 2:
        // After 1: 2 and 3 were left out.
        recorded = 4;
        write(DecisionEvent(4));
        return absl::UnavailableError("restarting");
      case 3:
        return absl::InvalidArgumentError("no such token");
      default:
        EXPECT_THAT(request.resume_token(), IsEmpty());
        recorded = 6;
        write(JobEvent(v1::Job::SUCCEEDED, "2"));
        return absl::OkStatus();
    }
  };
  const auto outcome = command_.Run("job logs mnist -f -o json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, Decisions({1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace paceline
