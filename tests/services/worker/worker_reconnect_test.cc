// A worker whose stream breaks comes back.

#include <vector>

#include "gtest/gtest.h"
#include "tests/services/worker/fake_coordinator.h"
#include "tests/services/worker/fake_parameters.h"
#include "tests/services/worker/worker_testing.h"

namespace paceline {
namespace {

using Kind = v1::WorkerMessage;

TEST(WorkerReconnectTest, AfterWhateverTheCoordinatorEndsItsStreamWith) {
  FakeCoordinator coordinator;
  RunningWorker worker(coordinator.address());
  for (const absl::Status& status :
       {absl::AbortedError("given up"), absl::UnavailableError("stopping"),
        absl::InvalidArgumentError("a message out of order"),
        absl::OkStatus()}) {
    const auto session = coordinator.NextSession();
    session->Register();
    session->Close(status);
  }
  const auto session = coordinator.NextSession();
  session->Register();
  session->Assign(AssignmentOf(1));
  session->Expect(Kind::kReady);
}

TEST(WorkerReconnectTest, InTheMiddleOfAnIteration) {
  FakeCoordinator coordinator;
  FakeParameters parameters;
  RunningWorker worker(coordinator.address());
  const auto session = coordinator.NextSession();
  session->Register();
  BeginJob(*session, parameters, 1);
  parameters.HoldPulls();
  session->Grant(1);
  parameters.AwaitHeldPull();
  session->Close(absl::AbortedError("given up"));
  const auto next = coordinator.NextSession();
  next->Register();
  // The task is still there, and serves another assignment.
  next->Assign(AssignmentOf(1));
  next->Expect(Kind::kReady);
}

TEST(WorkerReconnectTest, ToACoordinatorThatComesLater) {
  auto first = std::make_unique<FakeCoordinator>();
  const std::string address = first->address();
  RunningWorker worker(address);
  first->NextSession()->Register();
  first.reset();
  FakeCoordinator second(address);
  second.NextSession()->Register();
}

TEST(WorkerReconnectTest, ToTheOneOfTwoCoordinatorsThatLeads) {
  FakeCoordinator standby;
  FakeCoordinator leader;
  RunningWorker worker(standby.address() + "," + leader.address());
  const auto refused = standby.NextSession();
  refused->Expect(Kind::kHello);
  refused->Close(absl::UnavailableError("it stands by"));
  // Not there again: it may stand by for ever.
  const auto session = leader.NextSession();
  session->Register();
  // It leads, and so the next attempt goes there, too.
  session->Close(absl::AbortedError("given up"));
  const auto next = leader.NextSession();
  next->Register();
  // Its link breaks: another one may lead by now.
  next->Close(absl::UnavailableError("stopping"));
  const auto other = standby.NextSession();
  other->Expect(Kind::kHello);
  other->Close(absl::UnavailableError("it stands by"));
  leader.NextSession()->Expect(Kind::kHello);
}

TEST(WorkerReconnectTest, WhenItIsNotAllowedIn) {
  FakeCoordinator coordinator;
  RunningWorker worker(coordinator.address());
  const auto session = coordinator.NextSession();
  session->Expect(Kind::kHello);
  session->Close(absl::UnauthenticatedError("that token has expired"));
  coordinator.NextSession()->Register();
}

TEST(WorkerReconnectTest, NotWhenItsHelloIsRefused) {
  FakeCoordinator coordinator;
  RunningWorker worker(coordinator.address());
  const auto session = coordinator.NextSession();
  session->Expect(Kind::kHello);
  session->Close(absl::InvalidArgumentError("hello.name: too long"));
  EXPECT_EQ(worker.AwaitEnd(),
            absl::InvalidArgumentError("hello.name: too long"));
}

TEST(WorkerReconnectTest, NotForLongerThanItsPatience) {
  std::string address;
  {
    const FakeCoordinator gone;
    address = gone.address();
  }
  RunningWorker worker(address, /*evaluator=*/false, absl::Milliseconds(150));
  EXPECT_TRUE(absl::IsUnavailable(worker.AwaitEnd()));
}

TEST(WorkerReconnectTest, ACoordinatorThatIsSilentIsGivenUp) {
  FakeCoordinator coordinator;
  RunningWorker worker(coordinator.address());
  const auto session = coordinator.NextSession();
  session->BeSilent();
  session->Register(absl::Milliseconds(100));
  session->ExpectEnd();
  coordinator.NextSession()->Register();
}

// SIGTERM, which is Leave(), in every phase; and Drop(), when Leave() takes too
// long.

class WorkerLeaveTest : public testing::Test {
 protected:
  void Register() {
    session_ = coordinator_.NextSession();
    session_->Register();
    session_->AwaitHeartbeats(1);  // It has taken that in.
  }
  void BeginJob() { paceline::BeginJob(*session_, parameters_, 1); }
  // It takes leave as a whole, ends its stream and is done.
  void ExpectGoodbye() {
    EXPECT_TRUE(session_->Expect(Kind::kLeaving).leaving().process());
    session_->ExpectEnd();
    EXPECT_EQ(worker_.AwaitEnd(), absl::OkStatus());
  }

  FakeCoordinator coordinator_;
  FakeParameters parameters_;
  RunningWorker worker_{coordinator_.address()};
  std::shared_ptr<FakeSession> session_;
};

TEST_F(WorkerLeaveTest, BeforeItIsRegistered) {
  session_ = coordinator_.NextSession();
  session_->Expect(Kind::kHello);
  worker_.Leave();
  EXPECT_EQ(worker_.AwaitEnd(), absl::OkStatus());
  session_->ExpectEnd();
}

TEST_F(WorkerLeaveTest, WithoutAJob) {
  Register();
  worker_.Leave();
  ExpectGoodbye();
}

TEST_F(WorkerLeaveTest, BeforeBegin) {
  Register();
  session_->Assign(AssignmentOf(1));
  session_->Expect(Kind::kReady);
  worker_.Leave();
  ExpectGoodbye();
}

TEST_F(WorkerLeaveTest, BetweenTwoGrants) {
  Register();
  BeginJob();
  worker_.Leave();
  ExpectGoodbye();
  EXPECT_EQ(worker_.Metric("paceline_worker_assignments_total", "left"), 1);
  EXPECT_EQ(worker_.Metric("paceline_worker_assigned"), 0);
}

TEST_F(WorkerLeaveTest, AfterAJob) {
  Register();
  BeginJob();
  session_->Stop();
  EXPECT_FALSE(session_->Expect(Kind::kLeaving).leaving().process());
  worker_.Leave();
  ExpectGoodbye();
}

TEST_F(WorkerLeaveTest, AnIterationIsFinished) {
  Register();
  BeginJob();
  parameters_.HoldPushes();
  session_->Grant(1);
  parameters_.AwaitHeldPush();
  worker_.Leave();
  EXPECT_FALSE(worker_.ended());
  parameters_.AcknowledgePushes();
  EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().iteration(), 1);
  ExpectGoodbye();
}

// A balancer or a kubelet is to know at once, however long that takes.
TEST_F(WorkerLeaveTest, ItIsNotReadyWhileItFinishes) {
  Register();
  BeginJob();
  parameters_.HoldPushes();
  session_->Grant(1);
  parameters_.AwaitHeldPush();
  EXPECT_EQ(worker_.Registrations(),
            std::vector<absl::Status>{absl::OkStatus()});
  worker_.Leave();
  const std::vector<absl::Status> told = {
      absl::OkStatus(), absl::UnavailableError("the worker is stopping")};
  EXPECT_EQ(worker_.Registrations(), told);
  EXPECT_FALSE(worker_.ended());
  worker_.Leave();
  parameters_.AcknowledgePushes();
  session_->Expect(Kind::kPushDone);
  ExpectGoodbye();
  EXPECT_EQ(worker_.Registrations(), told) << "that was the last word";
}

TEST_F(WorkerLeaveTest, DropGivesAnIterationBackThatPushedNothing) {
  Register();
  BeginJob();
  parameters_.HoldPulls();
  session_->Grant(1);
  parameters_.AwaitHeldPull();
  worker_.Leave();
  worker_.Drop();
  ExpectGoodbye();
  EXPECT_EQ(parameters_.pushes(), 0);
}

TEST_F(WorkerLeaveTest, DropInAPushBreaksTheStreamInsteadOfSayingGoodbye) {
  Register();
  BeginJob();
  parameters_.HoldPushes();
  session_->Grant(1);
  parameters_.AwaitHeldPush();
  worker_.Drop();
  session_->ExpectEnd();
  EXPECT_EQ(worker_.AwaitEnd(), absl::OkStatus());
}

TEST_F(WorkerLeaveTest, WhileItLoads) {
  SlowData slow;
  Register();
  session_->Assign(AssignmentOf(1, slow.spec()));
  slow.AwaitLoading();
  worker_.Leave();
  slow.Finish(/*well=*/true);
  ExpectGoodbye();
}

TEST(WorkerLeaveAloneTest, WithoutACoordinator) {
  std::string address;
  {
    const FakeCoordinator gone;
    address = gone.address();
  }
  RunningWorker worker(address);
  worker.Leave();
  EXPECT_EQ(worker.AwaitEnd(), absl::OkStatus());
}

TEST(WorkerLeaveAloneTest, DropBeforeAnything) {
  FakeCoordinator coordinator;
  RunningWorker worker(coordinator.address());
  worker.Drop();
  EXPECT_EQ(worker.AwaitEnd(), absl::OkStatus());
}

}  // namespace

}  // namespace paceline
