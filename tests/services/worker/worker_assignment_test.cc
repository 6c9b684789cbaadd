// A worker takes part in one job after the other: a coordinator and a parameter
// server played by the test, over real gRPC.

#include <sys/socket.h>

#include <optional>

#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "tests/common/loopback_socket.h"
#include "tests/services/worker/fake_coordinator.h"
#include "tests/services/worker/fake_parameters.h"
#include "tests/services/worker/worker_testing.h"

namespace paceline {
namespace {

using Kind = v1::WorkerMessage;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Somebody has tried to reach `nobody`, in vain; from now on the port is free.
void AwaitAttempt(LoopbackSocket& nobody) {
  const UniqueFd caller = nobody.Accept();
  EXPECT_TRUE(caller.valid());
  // Without TIME_WAIT, which would hold the port.
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(caller.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  nobody.Close();
}

// A worker that is registered, up to the point where it has no job.
class WorkerAssignmentTest : public testing::Test {
 protected:
  void SetUp() override { hello_ = session_->Register(); }

  void BeginJob(uint64_t run) {
    paceline::BeginJob(*session_, parameters_, run);
  }

  void ExpectLeaving() {
    EXPECT_FALSE(session_->Expect(Kind::kLeaving).leaving().process());
  }

  FakeCoordinator coordinator_;
  FakeParameters parameters_;
  RunningWorker worker_{coordinator_.address()};
  std::shared_ptr<FakeSession> session_ = coordinator_.NextSession();
  v1::WorkerHello hello_;
};

TEST_F(WorkerAssignmentTest, SaysWhatItIs) {
  EXPECT_EQ(hello_.name(), "w0");
  EXPECT_EQ(hello_.pool(), "fast");
  EXPECT_FALSE(hello_.evaluator());
}

TEST_F(WorkerAssignmentTest, TwoJobsInARow) {
  for (const uint64_t run : {7, 8}) {
    BeginJob(run);
    EXPECT_EQ(worker_.Metric("paceline_worker_assigned"), 1);
    for (int64_t iteration = 1; iteration <= 3; ++iteration) {
      session_->Grant(iteration);
      const auto done = session_->Expect(Kind::kPushDone).push_done();
      EXPECT_EQ(done.iteration(), iteration);
      EXPECT_EQ(done.samples(), 32u);
      EXPECT_EQ(done.blocks(), 2u);
      EXPECT_EQ(done.gradient_square(), 0.25) << "as the server has said";
    }
    session_->Stop();
    ExpectLeaving();
  }
  EXPECT_EQ(parameters_.pushes(), 6);
  EXPECT_EQ(parameters_.sets(), 4);
  // Written before `leaving` is taken up by the next assignment.
  session_->Assign(AssignmentOf(9));
  session_->Expect(Kind::kReady);
  EXPECT_EQ(worker_.Metric("paceline_worker_assignments_total", "stopped"), 2);
}

TEST_F(WorkerAssignmentTest, StopBeforeBegin) {
  session_->Assign(AssignmentOf(1));
  session_->Expect(Kind::kReady);
  session_->Stop();
  ExpectLeaving();
  BeginJob(2);
}

TEST_F(WorkerAssignmentTest, StopBetweenTwoGrants) {
  BeginJob(1);
  session_->Stop();
  ExpectLeaving();
  BeginJob(2);
}

TEST_F(WorkerAssignmentTest, StopEndsAPullThatWaits) {
  BeginJob(1);
  parameters_.HoldPulls();
  session_->Grant(1, /*closing=*/5);
  parameters_.AwaitHeldPull();
  session_->Stop();
  // Nobody answers the pull, and nothing was pushed.
  ExpectLeaving();
  EXPECT_EQ(parameters_.pushes(), 0);
}

TEST_F(WorkerAssignmentTest, AGrantAndTheStopBehindIt) {
  BeginJob(1);
  session_->Grant(1);
  session_->Stop();
  // What was begun to be pushed is finished, and only that is reported.
  const v1::WorkerMessage first = session_->Next();
  EXPECT_EQ(parameters_.pushes(), first.has_push_done() ? 1 : 0);
  if (first.has_push_done()) {
    ExpectLeaving();
  } else {
    EXPECT_TRUE(first.has_leaving());
  }
  BeginJob(2);
}

TEST_F(WorkerAssignmentTest, APreparationThatFailsIsToldAndTheNextJobWorks) {
  for (const char* data : {"synthetic:none", "mnist:/nonexistent", "what?"}) {
    session_->Assign(AssignmentOf(1, data));
    const auto failed = session_->Expect(Kind::kFailed).failed();
    EXPECT_NE(failed.code(), 0);
    EXPECT_FALSE(failed.message().empty());
  }
  v1::Assignment unknown = AssignmentOf(1);
  unknown.mutable_job()->set_model("gpt9");
  session_->Assign(unknown);
  session_->Expect(Kind::kFailed);
  BeginJob(2);
  EXPECT_EQ(worker_.Metric("paceline_worker_assignments_total", "failed"), 4);
}

TEST_F(WorkerAssignmentTest, BlocksThatDoNotFitTheModelAreToldToo) {
  session_->Assign(AssignmentOf(1));
  const auto ready = session_->Expect(Kind::kReady);
  v1::WorkerCommand begin;
  *begin.mutable_begin() = parameters_.Begin(ready.ready(), true);
  begin.mutable_begin()->mutable_shards(0)->mutable_blocks()->RemoveLast();
  session_->Send(std::move(begin));
  EXPECT_EQ(session_->Expect(Kind::kFailed).failed().code(),
            static_cast<int>(absl::StatusCode::kInvalidArgument));
  BeginJob(2);
}

TEST_F(WorkerAssignmentTest, AStopThatCrossesAFailureIsNotAnswered) {
  session_->Assign(AssignmentOf(1, "what?"));
  session_->Expect(Kind::kFailed);
  session_->Stop();
  BeginJob(2);
  session_->Grant(1);
  session_->Expect(Kind::kPushDone);
}

// Nobody but the worker notices.
TEST_F(WorkerAssignmentTest, AStreamThatBreaksIsDialledAgain) {
  BeginJob(1);
  parameters_.HoldPulls();
  session_->Grant(1);
  parameters_.AwaitHeldPull();
  parameters_.BreakStreams(absl::UnavailableError("a blip"));
  parameters_.AwaitHeldPull();
  parameters_.HoldPushes();
  parameters_.AnswerPulls();
  parameters_.AwaitHeldPush();
  parameters_.BreakStreams(absl::InternalError("a reset"));
  parameters_.AwaitHeldPush();
  parameters_.AcknowledgePushes();
  session_->Expect(Kind::kPushDone);
  EXPECT_EQ(worker_.Metric("paceline_worker_redials_total"), 2);
}

TEST_F(WorkerAssignmentTest, TheServersGoDuringAPull) {
  auto servers = std::make_unique<FakeParameters>();
  const std::string address = servers->address();
  v1::Assignment assignment = AssignmentOf(1);
  assignment.set_lease_ms(2'000);
  session_->Assign(assignment);
  const auto ready = session_->Expect(Kind::kReady);
  v1::WorkerCommand begin;
  *begin.mutable_begin() = servers->Begin(ready.ready(), true);
  session_->Send(std::move(begin));
  session_->Expect(Kind::kInitialized);
  servers->HoldPulls();
  session_->Grant(1);
  servers->AwaitHeldPull();
  servers.reset();
  // It says why, and lives on as a new member.
  const auto why = session_->Expect(Kind::kGivingUp).giving_up();
  EXPECT_EQ(why.code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_THAT(why.message(),
              AllOf(HasSubstr(address), HasSubstr("the server is stopping")));
  session_->ExpectEnd();
  session_ = coordinator_.NextSession();
  session_->Register();
  session_->Assign(AssignmentOf(2));
  session_->Expect(Kind::kReady);
  EXPECT_EQ(worker_.Metric("paceline_worker_assignments_total", "broken"), 1);
}

// As a name that DNS does not know yet: gRPC fails what is called then.
TEST_F(WorkerAssignmentTest, AServerThatIsReachedLaterCostsNothing) {
  session_->Assign(AssignmentOf(1));
  const auto ready = session_->Expect(Kind::kReady);
  LoopbackSocket nobody;
  v1::WorkerCommand begin;
  *begin.mutable_begin() = parameters_.Begin(ready.ready(), true);
  begin.mutable_begin()->mutable_shards(0)->set_address(nobody.address());
  session_->Send(std::move(begin));
  AwaitAttempt(nobody);
  FakeParameters late(nobody.address());
  late.Begin(ready.ready(), true);
  session_->Expect(Kind::kInitialized);
  session_->Grant(1);
  session_->Expect(Kind::kPushDone);
}

TEST_F(WorkerAssignmentTest, AServerThatIsNeverReachedIsNamed) {
  v1::Assignment assignment = AssignmentOf(1);
  assignment.set_lease_ms(100);
  session_->Assign(assignment);
  const auto ready = session_->Expect(Kind::kReady);
  std::string gone;
  {
    const LoopbackSocket nobody;
    gone = nobody.address();
  }
  v1::WorkerCommand begin;
  *begin.mutable_begin() = parameters_.Begin(ready.ready(), true);
  begin.mutable_begin()->mutable_shards(0)->set_address(gone);
  session_->Send(std::move(begin));
  const auto why = session_->Expect(Kind::kGivingUp).giving_up();
  EXPECT_EQ(why.code(), static_cast<int>(absl::StatusCode::kUnavailable));
  EXPECT_THAT(why.message(), HasSubstr(absl::StrCat("server ", gone)));
  session_->ExpectEnd();
  coordinator_.NextSession()->Register();
}

TEST_F(WorkerAssignmentTest, AStopEndsTheWaitForAServer) {
  v1::Assignment assignment = AssignmentOf(1);
  assignment.set_lease_ms(3'600'000);
  session_->Assign(assignment);
  const auto ready = session_->Expect(Kind::kReady);
  LoopbackSocket nobody;
  v1::WorkerCommand begin;
  *begin.mutable_begin() = parameters_.Begin(ready.ready(), true);
  begin.mutable_begin()->mutable_shards(0)->set_address(nobody.address());
  session_->Send(std::move(begin));
  AwaitAttempt(nobody);
  session_->Stop();
  ExpectLeaving();
}

TEST_F(WorkerAssignmentTest, AServerHasFencedItDuringAPush) {
  BeginJob(1);
  parameters_.HoldPushes();
  session_->Grant(1);
  parameters_.AwaitHeldPush();
  // Nobody knows what of the push counts, so it must not say `leaving`.
  session_->Stop();
  parameters_.BreakStreams(absl::AbortedError("fenced"));
  EXPECT_THAT(session_->Expect(Kind::kGivingUp).giving_up().message(),
              HasSubstr("fenced"));
  session_->ExpectEnd();
  coordinator_.NextSession()->Register();
}

TEST(WorkerLoadingTest, HeartbeatsGoOnWhileItLoadsAndStopIsObeyedThen) {
  for (const bool well : {true, false}) {
    SlowData slow;
    FakeCoordinator coordinator;
    RunningWorker worker(coordinator.address());
    const auto session = coordinator.NextSession();
    session->Register(absl::Milliseconds(300));
    session->Assign(AssignmentOf(1, slow.spec()));
    slow.AwaitLoading();
    session->Stop();
    session->AwaitHeartbeats(5);
    slow.Finish(well);
    EXPECT_FALSE(session->Expect(Kind::kLeaving).leaving().process());
    session->Assign(AssignmentOf(2));
    session->Expect(Kind::kReady);
  }
}

TEST(WorkerEvaluatorJobsTest, EvaluatesForOneJobAfterTheOther) {
  FakeCoordinator coordinator;
  FakeParameters parameters;
  RunningWorker worker(coordinator.address(), /*evaluator=*/true);
  const auto session = coordinator.NextSession();
  EXPECT_TRUE(session->Register().evaluator());
  for (const uint64_t run : {1, 2, 1}) {
    session->Assign(AssignmentOf(run));
    const auto ready = session->Expect(Kind::kReady).ready();
    EXPECT_EQ(ready.test_samples(), 256u);
    v1::WorkerCommand begin;
    *begin.mutable_begin() = parameters.Begin(ready, /*initialize=*/true);
    session->Send(std::move(begin));
    session->Expect(Kind::kInitialized);
    v1::WorkerCommand evaluate;
    evaluate.mutable_evaluate()->set_snapshot(4);
    session->Send(std::move(evaluate));
    const auto evaluated = session->Expect(Kind::kEvaluated).evaluated();
    EXPECT_EQ(evaluated.snapshot(), 4);
    EXPECT_GT(evaluated.loss(), 0);
    session->Stop();
    session->Expect(Kind::kLeaving);
  }
}

class WorkerEvaluatorTest : public testing::Test {
 protected:
  void SetUp() override {
    session_->Register(absl::Milliseconds(300));
    BeginJob(*session_, parameters_, 1);
  }

  void Evaluate(int64_t snapshot) {
    v1::WorkerCommand evaluate;
    evaluate.mutable_evaluate()->set_snapshot(snapshot);
    session_->Send(std::move(evaluate));
  }
  // Told to stop, and it has taken that in.
  void Stop() {
    session_->Stop();
    session_->AwaitHeartbeats(3);
  }

  FakeCoordinator coordinator_;
  FakeParameters parameters_;
  RunningWorker worker_{coordinator_.address(), /*evaluator=*/true};
  std::shared_ptr<FakeSession> session_ = coordinator_.NextSession();
};

// It keeps its session, and takes the next one.
TEST_F(WorkerEvaluatorTest, ASnapshotThatWillNotComeIsGivenUp) {
  int64_t snapshot = 0;
  for (const absl::Status& why : {absl::ResourceExhaustedError("no room"),
                                  absl::NotFoundError("it is not held")}) {
    parameters_.FailPulls(why);
    Evaluate(++snapshot);
    const auto given_up = session_->Expect(Kind::kEvaluated).evaluated();
    EXPECT_EQ(given_up.snapshot(), snapshot);
    EXPECT_EQ(given_up.code(), static_cast<int>(why.code()));
    EXPECT_EQ(given_up.message(), why.message());
  }
  parameters_.FailPulls(absl::OkStatus());
  Evaluate(++snapshot);
  EXPECT_EQ(session_->Expect(Kind::kEvaluated).evaluated().code(), 0);
}

// Two jobs that share an evaluator come on, however long one evaluation takes.
TEST_F(WorkerEvaluatorTest, WhatItHasInHandWhenItIsReleasedIsFinished) {
  parameters_.HoldPulls();
  Evaluate(7);
  parameters_.AwaitHeldPull();
  Stop();
  parameters_.AnswerPulls();
  const auto evaluated = session_->Expect(Kind::kEvaluated).evaluated();
  EXPECT_EQ(evaluated.snapshot(), 7);
  EXPECT_EQ(evaluated.code(), 0);
  EXPECT_GT(evaluated.loss(), 0);
  EXPECT_FALSE(session_->Expect(Kind::kLeaving).leaving().process());
  session_->Assign(AssignmentOf(2));
  session_->Expect(Kind::kReady);
}

TEST_F(WorkerEvaluatorTest, AReleasedOneDoesNotWaitForASnapshotThatIsNotThere) {
  parameters_.FailPulls(absl::UnavailableError("parked for a lease"));
  Evaluate(1);
  session_->Stop();
  session_->Expect(Kind::kLeaving);
}

TEST_F(WorkerEvaluatorTest, AReleasedOneDoesNotWaitForServersThatAreGone) {
  parameters_.HoldPulls();
  Evaluate(1);
  parameters_.AwaitHeldPull();
  Stop();
  parameters_.BreakStreams(absl::UnavailableError("the server is stopping"));
  session_->Expect(Kind::kLeaving);
}

TEST_F(WorkerEvaluatorTest, TheEndOfItsSessionInterruptsIt) {
  parameters_.HoldPulls();
  Evaluate(1);
  parameters_.AwaitHeldPull();
  session_->Close(absl::AbortedError("the evaluation hangs: register anew"));
  coordinator_.NextSession()->Register();
}

TEST_F(WorkerEvaluatorTest, DroppingItInterruptsIt) {
  parameters_.HoldPulls();
  Evaluate(1);
  parameters_.AwaitHeldPull();
  Stop();
  worker_.Drop();
  EXPECT_EQ(worker_.AwaitEnd(), absl::OkStatus());
}

}  // namespace
}  // namespace paceline
