#include "services/worker/control_stream.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/connections/tcp_listener.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/worker/fake_coordinator.h"

namespace paceline {
namespace {

constexpr absl::Duration kLease = absl::Milliseconds(600);

// The commands of a session come by gRPC, or go on by a socket.
class SessionTest : public testing::TestWithParam<bool> {
 protected:
  void MayGoOnBySocket(FakeSession& session) {
    if (GetParam()) session.GoOnBySocket(*door_);
  }

  const std::unique_ptr<LaneDoor> door_ = *LaneDoor::Open();
  FakeCoordinator coordinator_;  // Last: its streams use the door.
};
INSTANTIATE_TEST_SUITE_P(, SessionTest, testing::Bool(),
                         [](const auto& by_socket) {
                           return by_socket.param ? "BySocket" : "ByGrpc";
                         });

// Sends assignments of 16 KiB, numbered from 1, until the worker has not read
// for so long that its queue does not shrink any more, and says how many that
// were.
int64_t SendUntilNothingIsRead(FakeSession& session, int64_t most) {
  for (int64_t sent = 0; sent < most; ++sent) {
    // At first it surely reads, however long that takes.
    const absl::Time give_up =
        absl::Now() + (sent < 1'000 ? kTestPatience : absl::Seconds(1));
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
TEST_P(SessionTest, CommandsThatNobodyTakesAreNotRead) {
  ControlStream control(
      std::make_shared<CoordinatorAddresses>(coordinator_.address()),
      v1::WorkerHello());
  const auto session = coordinator_.NextSession();
  session->Register(kLease);
  EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
  MayGoOnBySocket(*session);
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

v1::WorkerCommand GrantOf(int64_t iteration) {
  v1::WorkerCommand command;
  command.mutable_grant()->set_iteration(iteration);
  return command;
}

// Who waits for a grant would have to wake up for what can be done at once; who
// does something else is not to be overtaken.
TEST(ControlStreamTest, OnlyAGrantThatIsWaitedForIsToldEarly) {
  FakeCoordinator coordinator;
  ControlStream control(
      std::make_shared<CoordinatorAddresses>(coordinator.address()),
      v1::WorkerHello());
  const auto session = coordinator.NextSession();
  std::vector<int64_t> told;
  control.WhenGranted(
      [&told](const v1::Grant& grant) { told.push_back(grant.iteration()); });
  session->Register(absl::Seconds(30));
  EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
  session->Send(GrantOf(1));
  while (!control.Interrupted()) std::this_thread::yield();
  EXPECT_EQ(control.Next(kTestPatience)->grant().iteration(), 1);
  EXPECT_THAT(told, testing::IsEmpty()) << "nobody waited";

  // Sooner or later the waiting begins before the grant comes.
  int64_t iteration = 1;
  while (told.empty() && iteration < 100'000) {
    std::thread sends([&] { session->Send(GrantOf(iteration + 1)); });
    EXPECT_EQ(control.Next(kTestPatience)->grant().iteration(), ++iteration);
    sends.join();
  }
  EXPECT_THAT(told, testing::ElementsAre(iteration)) << "before it was taken";

  control.WhenGranted({});
  session->Send(GrantOf(++iteration));
  EXPECT_EQ(control.Next(kTestPatience)->grant().iteration(), iteration);
  EXPECT_THAT(told, testing::SizeIs(1));
}

TEST_P(SessionTest, EndsWhileItDoesNotRead) {
  for (const bool politely : {false, true}) {
    ControlStream control(
        std::make_shared<CoordinatorAddresses>(coordinator_.address()),
        v1::WorkerHello());
    const auto session = coordinator_.NextSession();
    session->Register(absl::Seconds(30));
    MayGoOnBySocket(*session);
    SendUntilNothingIsRead(*session, 20'000);
    if (politely) {
      control.SetLease(kTestPatience);
      const absl::Time began = absl::Now();
      control.Finish();
      EXPECT_LT(absl::Now() - began, kTestPatience) << "it was waited for";
      session->ExpectEnd();
    }
  }
}

// `registered` of a session, whose messages have come up to `received`.
v1::WorkerCommand Registered(uint64_t received) {
  v1::WorkerCommand command;
  command.mutable_registered()->set_lease_ms(10'000);
  command.mutable_registered()->mutable_session()->set_id(7);
  command.mutable_registered()->mutable_session()->set_received(received);
  return command;
}

// As a coordinator, which says nothing before it has heard the hello.
std::shared_ptr<FakeSession> Welcomed(FakeCoordinator& coordinator) {
  auto session = coordinator.NextSession();
  session->Expect(v1::WorkerMessage::kHello);
  session->Send(Registered(0));
  return session;
}

v1::WorkerCommand Grant(uint64_t number, int64_t iteration) {
  v1::WorkerCommand command;
  command.set_number(number);
  command.mutable_grant()->set_iteration(iteration);
  return command;
}

v1::WorkerMessage Done(int64_t iteration) {
  v1::WorkerMessage message;
  message.mutable_push_done()->set_iteration(iteration);
  return message;
}

TEST_P(SessionTest, ABrokenLinkCostsNothing) {
  ControlStream control(
      std::make_shared<CoordinatorAddresses>(coordinator_.address()),
      v1::WorkerHello());
  const auto first = coordinator_.NextSession();
  const v1::WorkerMessage hello = first->Next();
  EXPECT_TRUE(hello.hello().has_session());
  EXPECT_EQ(hello.hello().session().id(), 0u);
  first->Send(Registered(0));
  EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
  MayGoOnBySocket(*first);
  control.Send(Done(1));
  control.Send(Done(2));
  EXPECT_EQ(first->Next().number(), 1u);
  EXPECT_EQ(first->Next().number(), 2u);
  first->Send(Grant(1, 11));
  EXPECT_EQ(control.Next(kTestPatience)->grant().iteration(), 11);
  first->Close(absl::UnavailableError("the link breaks"));

  // The first message had come, and the grant is sent again.
  const auto second = coordinator_.NextSession();
  const v1::WorkerMessage again = second->Next();
  EXPECT_EQ(again.hello().session().id(), 7u);
  EXPECT_EQ(again.hello().session().received(), 1u);
  control.Send(Done(3));  // Waits for the answer.
  second->Send(Registered(1));
  MayGoOnBySocket(*second);
  second->Send(Grant(1, 11));
  second->Send(Grant(2, 12));
  EXPECT_EQ(control.Next(kTestPatience)->grant().iteration(), 12);
  for (const uint64_t number : {2u, 3u}) {
    const v1::WorkerMessage resent = second->Next();
    EXPECT_EQ(resent.number(), number);
    EXPECT_EQ(resent.push_done().iteration(), static_cast<int64_t>(number));
  }
  EXPECT_FALSE(control.ended());
  control.Finish();
  second->ExpectEnd();
}

// One that is frozen: the kernel takes the connection, and nobody answers. gRPC
// itself would wait for 20 s.
TEST(ControlStreamTest, ACoordinatorThatHangsIsLeftForAnotherOne) {
  FakeCoordinator coordinator;
  const auto frozen = ListenOnTcp("127.0.0.1:0");
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  ControlStream control(
      std::make_shared<CoordinatorAddresses>(
          absl::StrCat(coordinator.address(), ",127.0.0.1:", frozen->port)),
      v1::WorkerHello(), DialPlainly, /*orphan=*/absl::Seconds(15));
  const auto first = Welcomed(coordinator);
  EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
  control.SetLease(2 * kTestPatience);
  first->Close(absl::UnavailableError("the link breaks"));
  EXPECT_EQ(coordinator.NextSession()->Next().hello().session().id(), 7u);
}

TEST(ControlStreamTest, ASessionThatIsGivenUpEnds) {
  FakeCoordinator coordinator;
  ControlStream control(
      std::make_shared<CoordinatorAddresses>(coordinator.address()),
      v1::WorkerHello());
  const auto first = Welcomed(coordinator);
  EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
  first->Close(absl::UnavailableError("the link breaks"));
  coordinator.NextSession()->Close(absl::AbortedError("not known any more"));
  EXPECT_EQ(control.Next(kTestPatience).status(),
            absl::AbortedError("not known any more"));
}

// A worker that was taken in, and what the coordinator has of it.
class WelcomedTest : public testing::Test {
 protected:
  WelcomedTest() {
    EXPECT_TRUE(control_.Next(kTestPatience)->has_registered());
  }

  FakeCoordinator coordinator_;
  ControlStream control_{
      std::make_shared<CoordinatorAddresses>(coordinator_.address()),
      v1::WorkerHello()};
  const std::shared_ptr<FakeSession> session_ = Welcomed(coordinator_);
};

TEST_F(WelcomedTest, ANumberThatIsMissingEndsTheSession) {
  session_->Send(Grant(2, 11));
  EXPECT_TRUE(absl::IsInvalidArgument(control_.Next(kTestPatience).status()));
}

// Says so many things and then that it is done.
void ExpectLastWordsHeard(ControlStream& control, FakeSession& session,
                          int64_t words) {
  for (int64_t i = 1; i <= words; ++i) control.Send(Done(i));
  control.Finish();
  for (int64_t i = 1; i <= words; ++i) {
    ASSERT_EQ(session.Next().push_done().iteration(), i);
  }
  session.ExpectEnd();
}

// What a worker says last is heard, though it ends the stream at once.
TEST_P(SessionTest, WhatIsSaidLastIsHeard) {
  for (int life = 0; life < 20; ++life) {
    ControlStream control(
        std::make_shared<CoordinatorAddresses>(coordinator_.address()),
        v1::WorkerHello());
    const auto session = Welcomed(coordinator_);
    EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
    MayGoOnBySocket(*session);
    ExpectLastWordsHeard(control, *session, 20);
  }
}

// The worker is done while its socket is on the way: before the coordinator has
// it, before the worker hears that it has, or after.
TEST(ControlStreamTest, WhatIsSaidLastIsHeardWhileTheWayChanges) {
  const std::unique_ptr<LaneDoor> door = *LaneDoor::Open();
  FakeCoordinator coordinator;
  for (int life = 0; life < 60; ++life) {
    ControlStream control(
        std::make_shared<CoordinatorAddresses>(coordinator.address()),
        v1::WorkerHello());
    const auto session = Welcomed(coordinator);
    EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
    session->OfferSocket(*door);
    for (int i = 0; i < 100 * life; ++i) std::this_thread::yield();
    ExpectLastWordsHeard(control, *session, 3);
  }
}

TEST_F(WelcomedTest, ASocketThatWasNotHandedOverEndsTheSession) {
  v1::WorkerCommand by_socket;
  by_socket.mutable_by_socket();
  session_->Send(by_socket);
  EXPECT_TRUE(absl::IsInvalidArgument(control_.Next(kTestPatience).status()));
}

TEST_F(WelcomedTest, ASecondOfferEndsTheSession) {
  const std::unique_ptr<LaneDoor> door = *LaneDoor::Open();
  session_->GoOnBySocket(*door);
  v1::WorkerCommand offer;
  offer.mutable_socket_offer()->set_address("paceline-lane-nobody");
  session_->Send(offer);
  EXPECT_TRUE(absl::IsInvalidArgument(control_.Next(kTestPatience).status()));
}

// Two containers of one machine do not reach each other's sockets.
TEST_F(WelcomedTest, WithoutASocketItGoesOnByGrpc) {
  v1::WorkerCommand offer;
  offer.mutable_socket_offer()->set_address("paceline-lane-nobody");
  offer.mutable_socket_offer()->set_token(std::string(32, 't'));
  session_->Send(offer);
  session_->Send(Grant(1, 11));
  EXPECT_EQ(control_.Next(kTestPatience)->grant().iteration(), 11);
}

TEST(ControlStreamTest, WithoutACoordinatorItEndsAfterTheOrphanTime) {
  auto coordinator = std::make_unique<FakeCoordinator>();
  ControlStream control(
      std::make_shared<CoordinatorAddresses>(coordinator->address()),
      v1::WorkerHello(), DialPlainly, absl::Milliseconds(200));
  Welcomed(*coordinator);
  EXPECT_TRUE(control.Next(kTestPatience)->has_registered());
  coordinator.reset();
  const absl::Status ended = control.Next(kTestPatience).status();
  EXPECT_TRUE(absl::IsUnavailable(ended));
  EXPECT_THAT(ended.message(),
              testing::HasSubstr("no coordinator was reached for 200ms"));
}

}  // namespace
}  // namespace paceline
