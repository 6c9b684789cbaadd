// A worker whose stream breaks comes back.

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
  session->Assign(AssignmentOf(1));
  const auto ready = session->Expect(Kind::kReady).ready();
  v1::WorkerCommand begin;
  *begin.mutable_begin() = parameters.Begin(ready, true);
  session->Send(std::move(begin));
  session->Expect(Kind::kInitialized);
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

}  // namespace
}  // namespace paceline
