#include "services/coordinator/fleet/member_session.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/fleet/session_book.h"
#include "tests/services/coordinator/run/fake_stream.h"

namespace paceline {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

using Session = MemberSession<v1::WorkerMessage, v1::WorkerCommand>;
using Book = SessionBook<v1::WorkerMessage, v1::WorkerCommand>;
using Stream = FakeStream<v1::WorkerCommand>;

v1::WorkerCommand Registered() {
  v1::WorkerCommand command;
  command.mutable_registered()->set_lease_ms(1000);
  return command;
}

v1::WorkerCommand Grant(int64_t iteration) {
  v1::WorkerCommand command;
  command.mutable_grant()->set_iteration(iteration);
  return command;
}

v1::WorkerMessage Done(uint64_t number, uint64_t acknowledged = 0) {
  v1::WorkerMessage message;
  message.set_number(number);
  message.set_acknowledged(acknowledged);
  message.mutable_push_done()->set_iteration(static_cast<int64_t>(number));
  return message;
}

class MemberSessionTest : public testing::Test {
 protected:
  std::shared_ptr<Session> Open(bool resumable = true, size_t most = 100) {
    auto session = book_.Open("w0", resumable, most);
    Handle(session);
    session->Send(Registered());
    return session;
  }
  // Session 7, of which two messages were heard and two grants not received.
  std::shared_ptr<Session> Restore() {
    SentLog<v1::WorkerCommand> sent({.messages = 100}, 4);
    for (const int64_t iteration : {5, 6}) {
      v1::WorkerCommand grant = Grant(iteration);
      EXPECT_TRUE(sent.Add(grant, 1));
    }
    auto session = std::make_shared<Session>(7, "w0", sent, ReceivedLog(2));
    session->Send(Registered());
    return session;
  }
  void Handle(const std::shared_ptr<Session>& session) {
    session->Handle({.on_message =
                         [this](v1::WorkerMessage& message) {
                           heard_.push_back(message.push_done().iteration());
                           return answer_;
                         },
                     .on_over = [this] { over_.Put(true); },
                     .end_soon =
                         [this, weak = std::weak_ptr<Session>(session)] {
                           book_.EndSoon(weak.lock());
                         },
                     .on_lost_end = [this] { ++lost_ends_; }});
  }
  // The iterations of the grants that were sent, after `registered`.
  std::vector<int64_t> Granted(Stream& stream) {
    std::vector<int64_t> iterations;
    EXPECT_TRUE(stream.commands.Take(absl::ZeroDuration())->has_registered());
    while (true) {
      const auto command = stream.commands.Take(absl::ZeroDuration());
      if (!command.ok()) return iterations;
      iterations.push_back(command->grant().iteration());
    }
  }
  bool IsOver(absl::Duration patience = absl::ZeroDuration()) {
    return over_.Take(patience).ok();
  }

  absl::Status answer_;
  int lost_ends_ = 0;
  std::vector<int64_t> heard_;
  Mailbox<bool> over_;
  Book book_;
};

TEST_F(MemberSessionTest, WhatIsNotReceivedIsSentAgain) {
  const auto session = Open();
  session->Send(Grant(1));  // Somebody was quick.
  const auto first = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(first, 0).ok());
  session->Send(Grant(2));
  EXPECT_EQ(Granted(*first), (std::vector<int64_t>{1, 2}));
  session->OnStreamOver(first.get());
  session->Send(Grant(3));
  EXPECT_FALSE(IsOver()) << "it is absent, and not gone";

  const auto second = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(second, 1).ok());
  EXPECT_EQ(Granted(*second), (std::vector<int64_t>{2, 3}));
  v1::WorkerMessage done = Done(1, /*acknowledged=*/3);
  EXPECT_TRUE(session->OnMessage(second.get(), done).ok());
  const auto third = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(third, 3).ok());
  // Were it the late one of the two, its member would dial again.
  EXPECT_TRUE(absl::IsUnavailable(second->AwaitClosed(kPatience)));
  EXPECT_TRUE(Granted(*third).empty());
  session->OnStreamOver(second.get());
  EXPECT_FALSE(IsOver()) << "another stream carries it";
}

TEST_F(MemberSessionTest, EachMessageIsHandledOnce) {
  const auto session = Open();
  const auto first = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(first, 0).ok());
  for (const uint64_t number : {1u, 2u}) {
    v1::WorkerMessage done = Done(number);
    EXPECT_TRUE(session->OnMessage(first.get(), done).ok());
  }
  const auto second = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(second, 0).ok());
  const auto welcome = second->commands.Take(kPatience);
  EXPECT_EQ(welcome->registered().session().id(), session->id());
  EXPECT_EQ(welcome->registered().session().received(), 2u);
  v1::WorkerMessage late = Done(3);
  EXPECT_TRUE(session->OnMessage(first.get(), late).ok());
  EXPECT_EQ(heard_, (std::vector<int64_t>{1, 2})) << "that stream is no more";
  for (const uint64_t number : {2u, 3u}) {
    v1::WorkerMessage done = Done(number);
    EXPECT_TRUE(session->OnMessage(second.get(), done).ok());
  }
  EXPECT_EQ(heard_, (std::vector<int64_t>{1, 2, 3}));
  v1::WorkerMessage gap = Done(5);
  EXPECT_TRUE(absl::IsInvalidArgument(session->OnMessage(second.get(), gap)));
  EXPECT_TRUE(absl::IsInvalidArgument(second->AwaitClosed(kPatience)));
}

TEST_F(MemberSessionTest, GoesOnInAnotherLifeOfTheCoordinator) {
  const auto session = Restore();
  EXPECT_FALSE(session->connected());
  book_.Adopt(session);
  Handle(session);
  session->Send(Grant(7));
  const SessionPoint point = session->session_point();
  EXPECT_EQ(point.id, 7u);
  EXPECT_EQ(point.sent, 7u);
  EXPECT_EQ(point.received, 2u);

  ASSERT_EQ(*book_.Find(7, "w0"), session);
  const auto stream = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(stream, 5).ok());
  EXPECT_EQ(Granted(*stream), (std::vector<int64_t>{6, 7}));
  for (const uint64_t number : {2u, 3u}) {
    v1::WorkerMessage done = Done(number);
    EXPECT_TRUE(session->OnMessage(stream.get(), done).ok());
  }
  EXPECT_EQ(heard_, (std::vector<int64_t>{3}));
}

// What is sent after that has the same numbers, and is not what it has.
TEST_F(MemberSessionTest, AMemberThatWasToldMoreThanIsKnownTellsOfIt) {
  const auto session = Restore();
  book_.Adopt(session);
  Handle(session);
  session->Send(Grant(7));
  EXPECT_TRUE(absl::IsAborted(session->Attach(std::make_shared<Stream>(), 7)));
  EXPECT_EQ(lost_ends_, 1);
  const auto stream = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(stream, 6).ok());
  EXPECT_EQ(Granted(*stream), (std::vector<int64_t>{7}));
  session->OnStreamOver(stream.get());
  EXPECT_TRUE(session->Attach(std::make_shared<Stream>(), 7).ok());
  EXPECT_EQ(lost_ends_, 1);
}

// Before anybody carries it.
TEST_F(MemberSessionTest, OneThatEndsBeforeItIsAdoptedIsOver) {
  const auto session = Restore();
  session->Close(absl::AbortedError("the lease ended"));
  book_.Adopt(session);
  Handle(session);
  EXPECT_TRUE(IsOver(kPatience));
}

TEST_F(MemberSessionTest, AnAbsentOneThatIsClosedIsOverWithoutAStream) {
  const auto session = Open();
  const auto stream = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(stream, 0).ok());
  session->OnStreamOver(stream.get());
  session->Close(absl::AbortedError("the lease ended"));
  EXPECT_TRUE(IsOver(kPatience));
  EXPECT_EQ(session->Attach(std::make_shared<Stream>(), 0),
            absl::AbortedError("the lease ended"));
}

TEST_F(MemberSessionTest, TheMembersLastWordEndsIt) {
  const auto session = Open();
  const auto stream = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(stream, 0).ok());
  v1::WorkerMessage end;
  end.set_number(1);
  end.mutable_end();
  EXPECT_TRUE(session->OnMessage(stream.get(), end).ok());
  EXPECT_TRUE(stream->AwaitClosed(kPatience).ok());
  session->OnStreamOver(stream.get());
  EXPECT_TRUE(IsOver());
}

TEST_F(MemberSessionTest, OneThatCannotComeBackIsOverWithItsStream) {
  const auto session = Open(/*resumable=*/false);
  const auto stream = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(stream, 0).ok());
  EXPECT_FALSE(stream->commands.Take(kPatience)->registered().has_session());
  session->OnStreamOver(stream.get());
  EXPECT_TRUE(IsOver());
}

TEST_F(MemberSessionTest, OneThatTakesNothingIsGivenUp) {
  const auto session = Open(/*resumable=*/true, /*most=*/3);
  const auto stream = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(stream, 0).ok());
  for (int i = 0; i < 4; ++i) session->Send(Grant(i));
  EXPECT_TRUE(absl::IsResourceExhausted(stream->AwaitClosed(kPatience)));
}

TEST_F(MemberSessionTest, AMessageThatIsRefusedEndsIt) {
  const auto session = Open();
  const auto stream = std::make_shared<Stream>();
  ASSERT_TRUE(session->Attach(stream, 0).ok());
  answer_ = absl::InvalidArgumentError("nonsense");
  v1::WorkerMessage done = Done(1);
  EXPECT_EQ(session->OnMessage(stream.get(), done), answer_);
  EXPECT_EQ(stream->AwaitClosed(kPatience), answer_);
}

TEST_F(MemberSessionTest, IsFoundByItsNumberAndNameAlone) {
  const auto session = Open();
  EXPECT_EQ(*book_.Find(session->id(), "w0"), session);
  EXPECT_TRUE(absl::IsAborted(book_.Find(session->id(), "w1").status()));
  EXPECT_TRUE(absl::IsAborted(book_.Find(session->id() + 1, "w0").status()));
  book_.Remove(session->id());
  EXPECT_TRUE(absl::IsAborted(book_.Find(session->id(), "w0").status()));
}

}  // namespace
}  // namespace paceline
