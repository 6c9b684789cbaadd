// Who comes, goes and fails while the job trains.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;
using ::testing::HasSubstr;

class JobRunMembersTest : public JobRunTest {};

TEST_F(JobRunMembersTest, AJoinerBeginsAndIsGranted) {
  spec_.set_paradigm("asp");
  StartTraining();
  FakeWorker& joiner = AddWorker("w2");
  joiner.Enter(SmallModel(40));
  const v1::BeginJob begin = joiner.Next(Kind::kBegin).begin();
  EXPECT_FALSE(begin.initialize());
  EXPECT_EQ(begin.shards_size(), 2);
  const v1::Grant grant = joiner.Next(Kind::kGrant).grant();
  EXPECT_EQ(grant.range().begin(), 20u);
  EXPECT_EQ(grant.plan().immediate_rate(), 0.1);
  EXPECT_TRUE(joiner.SayPushed(grant).ok());
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["workers"].size(), 3u);
}

TEST_F(JobRunMembersTest, AJoinerMustAgree) {
  StartTraining();
  FakeWorker& joiner = AddWorker("w2");
  joiner.Next(Kind::kAssign);
  EXPECT_TRUE(absl::IsFailedPrecondition(joiner.SayReady(SmallModel(39))));
  joiner.Break();
  EXPECT_TRUE(joiner.HasNothing());
  // The others do not notice.
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < 2; ++i) {
      const v1::Grant grant =
          round == 0 ? first_grants()[i] : worker(i).Next(Kind::kGrant).grant();
      EXPECT_TRUE(worker(i).SayPushed(grant).ok());
    }
  }
  EXPECT_TRUE(Outcome().status.ok());
}

TEST_F(JobRunMembersTest, AWorkerThatLeavesPolitelyHoldsNobodyUp) {
  StartTraining();
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  EXPECT_TRUE(worker(1).SayLeaving().ok());
  EXPECT_TRUE(worker(1).IsGone());
  worker(1).Break();  // Its stream ends, having been closed.
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_EQ(worker(0).Work(), 2);
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 40);
}

TEST_F(JobRunMembersTest, ALostWorkerIsFencedAndItsBatchDealtAgain) {
  StartTraining();
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  worker(1).Break();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NE(server(i).Await(v1::ServerCommand::kFence).fence().incarnation(),
              0u);
  }
  EXPECT_EQ(worker(0).Work(), 3);  // Its own 30 samples, with the lost ten.
  EXPECT_TRUE(Outcome().status.ok());
  const auto run = Report();
  EXPECT_EQ(run["samples"], 40);
  EXPECT_EQ(run["workers"][1]["samples"], 0);
  // People are told of the loss and of the range.
  const auto decisions = History().decisions;
  ASSERT_EQ(decisions.size(), 2u);
  for (const v1::Decision& decision : decisions) {
    EXPECT_EQ(decision.worker(), "w1");
    EXPECT_EQ(decision.kind(), "loss");
  }
  EXPECT_THAT(decisions[0].text(), HasSubstr("stream broken"));
}

TEST_F(JobRunMembersTest, TheFenceNamesTheIncarnationOfTheAssignment) {
  MakeJob();
  std::vector<uint64_t> incarnations;
  for (const char* const name : {"w0", "w1"}) {
    FakeWorker& added = AddWorker(name);
    incarnations.push_back(added.Next(Kind::kAssign).assign().incarnation());
    EXPECT_TRUE(added.SayReady(SmallModel(40)).ok());
  }
  RunJob();
  worker(0).Next(Kind::kBegin);
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  worker(1).Next(Kind::kBegin);
  worker(1).Next(Kind::kGrant);
  worker(1).Break();
  EXPECT_EQ(server(0).Await(v1::ServerCommand::kFence).fence().incarnation(),
            incarnations[1]);
}

TEST_F(JobRunMembersTest, AWorkerThatComesBackGoesOnInItsRow) {
  StartTraining();
  worker(0).Break();
  FakeWorker& again = AddWorker("w0");
  again.Enter(SmallModel(40));
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  std::thread other([this] { worker(1).Work(); });
  again.Work();
  other.join();
  EXPECT_TRUE(Outcome().status.ok());
  const auto run = Report();
  EXPECT_EQ(run["samples"], 40);
  EXPECT_EQ(run["workers"].size(), 2u);
}

TEST_F(JobRunMembersTest, WithoutAnyWorkerTheJobFailsAfterALease) {
  StartTraining();
  worker(0).Break();
  worker(1).Break();
  EXPECT_TRUE(server(0).Await(v1::ServerCommand::kFence).has_fence());
  clock_.Advance(absl::Seconds(11));
  const absl::Status& outcome = Outcome().status;
  EXPECT_TRUE(absl::IsUnavailable(outcome));
  EXPECT_THAT(outcome.ToString(), HasSubstr("no worker is left"));
  EXPECT_FALSE(Outcome().paused);
  EXPECT_FALSE(Outcome().out_of_workers);
}

v1::WorkerMessage Failed() {
  v1::WorkerMessage failed;
  failed.mutable_failed()->set_code(
      static_cast<int>(absl::StatusCode::kDataLoss));
  failed.mutable_failed()->set_message("mnist: the file is truncated");
  return failed;
}

TEST_F(JobRunMembersTest, AJoinerThatFailsCostsTheJobNothing) {
  StartTraining();
  FakeWorker& joiner = AddWorker("w2");
  joiner.Next(Kind::kAssign);
  EXPECT_TRUE(joiner.Say(Failed()).ok());
  AwaitDecision("cannot take part: DATA_LOSS: mnist: the file is truncated");
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  std::thread first([&] { worker(0).Work(); });
  worker(1).Work();
  first.join();
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
}

TEST_F(JobRunMembersTest, IfNobodyCanPrepareItTheJobFailsWithTheFirstReason) {
  MakeJob();
  AddWorker("w0");
  AddWorker("w1");
  RunJob();
  EXPECT_TRUE(worker(1).Say(Failed()).ok());
  EXPECT_TRUE(worker(0).Say(Failed()).ok());
  // Others could come for a lease.
  EXPECT_EQ(OutcomeInTime(/*heard=*/0).status,
            absl::DataLossError("w1: mnist: the file is truncated"));
}

TEST_F(JobRunMembersTest, IfTheLastToTrainFailsTheJobFailsWithItsReason) {
  StartTraining();
  worker(0).Break();
  EXPECT_TRUE(worker(1).Say(Failed()).ok());
  AwaitDecision("lost (failed) in iteration");
  clock_.Advance(absl::Seconds(11));
  EXPECT_EQ(Outcome().status,
            absl::DataLossError("w1: mnist: the file is truncated"));
}

TEST_F(JobRunMembersTest, ItIsSavedBeforeItFailsForWantOfWorkers) {
  KeepCheckpoints();
  StartTraining();
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(worker(0).Say(Failed()).ok());
  EXPECT_TRUE(worker(1).Say(Failed()).ok());
  AwaitDecision("lost (failed) in iteration");
  clock_.Advance(absl::Seconds(11));
  EXPECT_EQ(Outcome().status,
            absl::DataLossError("w1: mnist: the file is truncated"));
  EXPECT_THAT(Outcome().checkpoint, HasSubstr("pause"));
}

TEST_F(JobRunMembersTest, WhileOneLoadsOrAMachineIsToBlameItWaits) {
  for (const bool loads : {true, false}) {
    SCOPED_TRACE(loads);
    KeepCheckpoints();
    StartTraining();
    v1::WorkerMessage failed = Failed();
    if (loads) {
      AddWorker("w2").Next(Kind::kAssign);
    } else {
      failed.mutable_failed()->set_code(
          static_cast<int>(absl::StatusCode::kInternal));
    }
    EXPECT_TRUE(worker(0).Say(failed).ok());
    EXPECT_TRUE(worker(1).Say(failed).ok());
    const RunOutcome& outcome = OutcomeInTime(/*heard=*/loads ? 2 : 0);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_TRUE(outcome.out_of_workers);
    EndRun();
  }
}

TEST_F(JobRunMembersTest, WhoFailedBeforeTheLastOneBrokeFailsNoJob) {
  KeepCheckpoints();
  StartTraining();
  EXPECT_TRUE(worker(0).Say(Failed()).ok());
  worker(1).Break();
  AwaitDecision("lost (stream broken) in iteration");
  clock_.Advance(absl::Seconds(11));
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_TRUE(Outcome().out_of_workers);
}

// It has not said yet that it cannot.
TEST_F(JobRunMembersTest, WhileOneStillLoadsNoOtherFailsTheJob) {
  MakeJob();
  AddWorker("w0");
  AddWorker("w1");
  RunJob();
  EXPECT_TRUE(worker(1).Say(Failed()).ok());
  const RunOutcome& outcome = OutcomeInTime(/*heard=*/0);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_TRUE(outcome.out_of_workers);
}

TEST_F(JobRunMembersTest, IfOneCanPrepareItTheJobWaitsForOtherWorkers) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1");
  RunJob();
  EXPECT_TRUE(worker(1).Say(Failed()).ok());
  const RunOutcome& outcome = OutcomeInTime(/*heard=*/0);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_TRUE(outcome.paused);
  EXPECT_TRUE(outcome.out_of_workers);
  EXPECT_EQ(worker(0).AwaitStop(), "the job has ended");
}

TEST_F(JobRunMembersTest, AnotherWorkerTakesThePlaceOfOneThatFails) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1");
  RunJob();
  EXPECT_TRUE(worker(1).Say(Failed()).ok());
  AddWorker("w2").Enter(SmallModel(40));
  std::thread first([&] { worker(0).Work(); });
  std::thread second([&] { worker(2).Work(); });
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_FALSE(Outcome().paused);
  first.join();
  second.join();
}

TEST_F(JobRunMembersTest, AServerThatFailsFailsTheJobWithItsReason) {
  StartTraining();
  v1::ServerMessage failed;
  failed.mutable_failed()->set_code(
      static_cast<int>(absl::StatusCode::kInvalidArgument));
  failed.mutable_failed()->set_message("unknown optimizer");
  EXPECT_TRUE(server(1).Say(failed).ok());
  EXPECT_EQ(Outcome().status,
            absl::InvalidArgumentError("s1: unknown optimizer"));
}

TEST_F(JobRunMembersTest, AServerThatIsGoneFailsTheJob) {
  StartTraining();
  job_->OnServerDisconnected(server(0).member());
  const absl::Status& outcome = Outcome().status;
  EXPECT_TRUE(absl::IsUnavailable(outcome));
  EXPECT_THAT(outcome.ToString(), HasSubstr("parameter server s0 is gone"));
}

TEST_F(JobRunMembersTest, AServerThatHangsFailsTheJob) {
  StartTraining();
  server(1).Hang();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
  server(1).Await(v1::ServerCommand::kClose);
  const absl::Status& status = OutcomeInTime(0).status;
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.ToString(),
              HasSubstr("parameter server s1 has carried out no command for "
                        "1m40s, though it is connected"));
}

TEST_F(JobRunMembersTest, TheTimeLimitEndsTheDealing) {
  spec_.mutable_stop()->set_seconds(5);
  StartTraining();
  clock_.Advance(absl::Seconds(5));
  AwaitDecision("nothing more is dealt");
  // What is in flight still counts.
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 20);
  EXPECT_EQ(Report()["seconds"], 5);
}

TEST_F(JobRunMembersTest, CancelEndsTheJobWithItsReason) {
  StartTraining();
  job_->Cancel(absl::CancelledError("told to stop"));
  job_->Cancel(absl::InternalError("the second reason"));
  EXPECT_EQ(Outcome().status, absl::CancelledError("told to stop"));
  EXPECT_EQ(worker(0).AwaitStop(), "told to stop");
}

TEST_F(JobRunMembersTest, MessagesOutOfOrderAreRefused) {
  MakeJob();
  FakeWorker& added = AddWorker("w0");
  EXPECT_TRUE(absl::IsInvalidArgument(added.Say({})));
  v1::WorkerMessage hello;
  hello.mutable_hello()->set_name("w0");
  EXPECT_TRUE(absl::IsInvalidArgument(added.Say(hello)));
  EXPECT_TRUE(absl::IsInvalidArgument(added.SayPushed({})));
  EXPECT_TRUE(absl::IsFailedPrecondition(added.SayEvaluated(1, 1)));
  EXPECT_TRUE(added.SayReady(SmallModel(40)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(added.SayReady(SmallModel(40))));
  EXPECT_TRUE(added.SayHeartbeat().ok());  // The fleet answers it.
  added.Next(Kind::kAssign);
  EXPECT_TRUE(added.HasNothing());
}

TEST_F(JobRunMembersTest, PushesThatWereNotGrantedAreRefused) {
  StartTraining();
  v1::Grant other = first_grants()[0];
  other.set_iteration(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(worker(0).SayPushed(other)));
  other = first_grants()[0];
  other.mutable_range()->set_end(11);
  EXPECT_TRUE(absl::IsInvalidArgument(worker(0).SayPushed(other)));
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(worker(0).SayPushed(first_grants()[0])));
}

TEST_F(JobRunMembersTest, AfterTheEndNobodyIsTaken) {
  Assemble();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  const FakeWorker late(job_.get(), "w9");
  EXPECT_TRUE(absl::IsFailedPrecondition(late.registered()));
  job_->OnServerDisconnected(100);  // Its stream ends after the stop.
}

}  // namespace
}  // namespace paceline
