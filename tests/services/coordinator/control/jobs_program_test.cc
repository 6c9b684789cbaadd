// Jobs whose model a process of the user's computes: who gets them, and what
// comes of a process that dies.

#include <string>

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Status kExited = absl::UnavailableError(
    "the program exited with 1 before it attached; last lines: ImportError");

class JobsProgramTest : public JobsTest {
 protected:
  JobsProgramTest() {
    v1::JobSpec& spec = *request_.mutable_job()->mutable_spec();
    spec.set_model("program:resnet");
    spec.set_data("program");
    (*spec.mutable_arguments())["depth"] = "18";
  }

  static v1::WorkerHello WithProgram(const std::string& name,
                                     bool evaluator = false) {
    v1::WorkerHello hello;
    hello.set_name(name);
    hello.set_evaluator(evaluator);
    hello.add_programs("resnet");
    return hello;
  }

  // More than one, in which all are heard.
  void PassALease() {
    for (int i = 0; i < 5; ++i) {
      clock_.Advance(options_.lease * 0.4);
      for (size_t w = 0; w < workers(); ++w) worker(w).Heartbeat();
      AwaitTurn();
    }
  }

  v1::CreateJobRequest request_ = Request("own");
};

TEST_F(JobsProgramTest, ItsWorkersHaveTheProgram) {
  StartWithMembers();  // w0 computes what is built in.
  const std::string own = Create(request_);
  AwaitLook(own);
  EXPECT_EQ(Get(own).state(), v1::Job::PENDING);
  EXPECT_EQ(Get(own).state_reason(),
            "needs 1 worker with the program resnet, 0 are free; no worker has "
            "it");
  AddWorker(WithProgram("w1"));
  AwaitTraining(own);
  EXPECT_EQ(Get(own).spec().arguments().at("depth"), "18");
  EXPECT_EQ(Stored(own).spec().arguments().at("depth"), "18");
  Run("built-in");  // Has w0, which was of no use for the other one.
}

TEST_F(JobsProgramTest, AScriptThatFailsEachTimeFailsTheJob) {
  Start();
  AddServer("s0");
  FleetWorker& broken = AddWorker(WithProgram("w0"));
  broken.FailEachTime(kExited, /*pushes=*/0);
  const std::string job = Create(request_);
  for (int i = 0; i < 5; ++i) broken.AwaitAssigned();
  PassALease();
  Watch(job)->AwaitState(v1::Job::FAILED);
  EXPECT_THAT(Get(job).state_reason(),
              AllOf(HasSubstr("w0: the program exited with 1"),
                    HasSubstr("ImportError")));
  // It is kept out of that job, and of no other.
  broken.FailNoMore();
  v1::CreateJobRequest other = request_;
  other.set_job_id("other");
  AwaitTraining(Create(other));
}

TEST_F(JobsProgramTest, AJobSurvivesManyDeathsOfItsProgram) {
  Start();
  AddServer("s0");
  FleetWorker& mortal = AddWorker(WithProgram("w0"));
  mortal.FailEachTime(kExited, /*pushes=*/1);
  mortal.PushOn();
  const std::string job = Create(request_);
  constexpr int kDeaths = 50;
  for (int i = 0; i <= kDeaths; ++i) mortal.AwaitAssigned();
  AwaitTurn();
  const v1::Job now = Get(job);
  EXPECT_EQ(now.state(), v1::Job::RUNNING) << now.state_reason();
  mortal.FailNoMore();
  ASSERT_TRUE(Cancel(job).ok());
  Watch(job)->AwaitState(v1::Job::CANCELLED);
  // One push of ten samples in each life.
  EXPECT_GE(Get(job).progress().samples(), 10 * kDeaths);
}

// As one whose script has no function for it: it would say so again.
TEST_F(JobsProgramTest, AnEvaluatorThatCannotIsNotWaitedFor) {
  Start();
  AddServer("s0");
  FleetWorker& evaluator = AddWorker(WithProgram("e0", /*evaluator=*/true));
  evaluator.FailEachTime(
      absl::FailedPreconditionError("the script has no evaluator"), 0);
  AddWorker(WithProgram("w0")).PushOn();
  v1::JobSpec& spec = *request_.mutable_job()->mutable_spec();
  spec.mutable_evaluation()->set_disabled(false);
  spec.mutable_stop()->set_epochs(1);
  const std::string job = Create(request_);
  evaluator.AwaitAssigned();
  AwaitTurn();
  // It looks twice a second.
  absl::Duration passed;
  while (passed < options_.lease && Get(job).state() != v1::Job::SUCCEEDED) {
    clock_.Advance(absl::Milliseconds(500));
    passed += absl::Milliseconds(500);
    for (size_t w = 0; w < workers(); ++w) worker(w).Heartbeat();
    AwaitTurn();
    AwaitTurn();
  }
  EXPECT_EQ(Get(job).state(), v1::Job::SUCCEEDED);
  EXPECT_THAT(Get(job).state_reason(),
              HasSubstr("snapshots are not evaluated: e0 cannot take part: the "
                        "script has no evaluator"));
}

// The other one goes on, and whoever looks learns why it is alone.
TEST_F(JobsProgramTest, OneThatIsKeptOutIsSaidOfAJobThatWaits) {
  Start();
  AddServer("s0");
  FleetWorker& broken = AddWorker(WithProgram("w0"));
  broken.FailEachTime(
      absl::FailedPreconditionError("the data set has 49,984 samples"), 0);
  request_.mutable_job()->mutable_spec()->mutable_workers()->set_min(2);
  const std::string job = Create(request_);
  AddWorker(WithProgram("w1"));
  broken.AwaitAssigned();
  PassALease();
  Watch(job)->AwaitState(v1::Job::PENDING);
  AwaitTurn();
  EXPECT_EQ(Get(job).state_reason(),
            "needs 2 workers with the program resnet, 1 is free; w0 cannot "
            "take part: the data set has 49,984 samples");
}

// At once, not when its lease is over.
TEST_F(JobsProgramTest, AJobThatStartsSaysWhoCannotTakePart) {
  Start();
  AddServer("s0");
  FleetWorker& broken = AddWorker(WithProgram("w0"));
  broken.FailEachTime(absl::FailedPreconditionError("no such file"), 0);
  const std::string job = Create(request_);
  const auto watcher = Watch(job);
  EXPECT_EQ(watcher->AwaitReason("cannot take part: w0: no such file").state(),
            v1::Job::STARTING);
  // Another one can.
  AddWorker(WithProgram("w1"));
  AwaitTraining(job);
  EXPECT_EQ(watcher->AwaitState(v1::Job::RUNNING).state_reason(), "");
}

}  // namespace
}  // namespace paceline
