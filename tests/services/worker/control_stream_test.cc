#include "services/worker/control_stream.h"

#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/services/worker/fake_coordinator.h"

namespace paceline {
namespace {

constexpr absl::Duration kLease = absl::Milliseconds(600);

// Sends assignments of 16 KiB, numbered from 1, until the worker has not read
// for so long that its queue does not shrink any more, and says how many that
// were.
int64_t SendUntilNothingIsRead(FakeSession& session, int64_t most) {
  for (int64_t sent = 0; sent < most; ++sent) {
    const absl::Time give_up = absl::Now() + absl::Seconds(1);
    while (session.queued() >= 100) {
      if (absl::Now() > give_up) return sent;
      std::this_thread::yield();
    }
    v1::WorkerCommand command;
    command.mutable_assign()->set_run(static_cast<uint64_t>(sent) + 1);
    command.mutable_assign()->set_job_name(std::string(16 << 10, 'n'));
    session.Send(std::move(command));
  }
  return most;
}

// What a worker does not take waits at the coordinator, whose own limit it then
// reaches; that nothing is read does not count as the coordinator's silence.
TEST(ControlStreamTest, CommandsThatNobodyTakesAreNotRead) {
  FakeCoordinator coordinator;
  ControlStream control(coordinator.address(), v1::WorkerHello());
  const auto session = coordinator.NextSession();
  session->Register(kLease);
  EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
  control.SetLease(kLease);
  const int64_t sent = SendUntilNothingIsRead(*session, 20'000);
  EXPECT_GE(sent, 1'000);
  EXPECT_LT(sent, 10'000);
  session->AwaitHeartbeats(10);  // More than two leases of them.
  EXPECT_FALSE(control.ended());
  for (int64_t i = 1; i <= sent; ++i) {
    const auto command = control.Next(kTestPatience);
    ASSERT_TRUE(command.ok()) << command.status();
    ASSERT_EQ(command->assign().run(), static_cast<uint64_t>(i));
  }
}

TEST(ControlStreamTest, EndsWhileItDoesNotRead) {
  FakeCoordinator coordinator;
  for (const bool politely : {false, true}) {
    ControlStream control(coordinator.address(), v1::WorkerHello());
    const auto session = coordinator.NextSession();
    session->Register(absl::Seconds(30));
    SendUntilNothingIsRead(*session, 20'000);
    if (politely) {
      const absl::Time began = absl::Now();
      control.Finish();
      EXPECT_LT(absl::Now() - began, absl::Seconds(5));
      session->ExpectEnd();
    }
  }
}

}  // namespace
}  // namespace paceline
