#include "services/coordinator/run/roster.h"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Time At(int seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

v1::WorkerHello Hello(const std::string& name, bool evaluator = false) {
  v1::WorkerHello hello;
  hello.set_name(name);
  hello.set_evaluator(evaluator);
  return hello;
}

std::vector<std::string> Names(const std::vector<Member>& members) {
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(member.name);
  return names;
}

class RosterTest : public ::testing::Test {
 protected:
  // What goes to the members, "w0 heartbeat" or "w0 closed: ABORTED: why".
  WorkerPeer PeerOf(const std::string& name) {
    return {[this, name](const v1::WorkerCommand& command) {
              log_.push_back(name + " " + Kind(command));
            },
            [this, name](const absl::Status& status) {
              log_.push_back(name + " closed: " + status.ToString());
            }};
  }
  static std::string Kind(const v1::WorkerCommand& command) {
    return command.has_heartbeat() ? "heartbeat"
           : command.has_stop()    ? "stop"
                                   : "other";
  }
  Member Register(const std::string& name, bool evaluator = false) {
    const auto member =
        roster_.Register(Hello(name, evaluator), PeerOf(name), At(1));
    EXPECT_TRUE(member.ok());
    return *member;
  }

  std::vector<std::string> log_;
  Roster roster_{/*entropy=*/1};
};

// Thousands of them may come and go in a long job.
TEST_F(RosterTest, WhoIsGoneIsKnownByNameAlone) {
  const Member member = Register("w0");
  v1::WorkerReady ready;
  ready.add_tensors()->set_name("dense.weight");
  EXPECT_TRUE(roster_.Ready(member.id, ready).ok());
  EXPECT_EQ(roster_.Find(member.id)->ready.tensors_size(), 1);
  EXPECT_TRUE(roster_.Gone(member.id));
  EXPECT_EQ(roster_.Find(member.id)->ready.tensors_size(), 0);
  EXPECT_EQ(roster_.NameOf(member.id), "w0");
  EXPECT_EQ(roster_.IncarnationOf(member.id), member.incarnation);
}

TEST_F(RosterTest, NumbersMembersInTheirOrder) {
  const Member first = Register("w0");
  const Member second = Register("e0", /*evaluator=*/true);
  EXPECT_LT(first.id, second.id);
  EXPECT_NE(first.incarnation, second.incarnation);
  EXPECT_EQ(first.state, MemberState::kLoading);
  EXPECT_FALSE(first.evaluator);
  EXPECT_TRUE(second.evaluator);
  EXPECT_EQ(roster_.NameOf(second.id), "e0");
  EXPECT_EQ(roster_.IncarnationOf(second.id), second.incarnation);
  EXPECT_THAT(Names(roster_.Present()), ElementsAre("w0", "e0"));
}

TEST_F(RosterTest, AComebackIsANewMember) {
  const Member first = Register("w0");
  EXPECT_TRUE(roster_.Gone(first.id));
  const Member again = Register("w0");
  EXPECT_NE(again.id, first.id);
  EXPECT_NE(again.incarnation, first.incarnation);
}

TEST_F(RosterTest, AnotherCoordinatorIssuesOtherIncarnations) {
  Roster other(/*entropy=*/2);
  std::set<uint64_t> incarnations;
  for (int i = 0; i < 100; ++i) {
    incarnations.insert(Register("w0").incarnation);
    incarnations.insert(other.Register(Hello("w0"), {}, At(1))->incarnation);
  }
  EXPECT_EQ(incarnations.size(), 200u);
}

TEST_F(RosterTest, RefusesNamesThatWouldNotFitALabel) {
  for (const std::string& name :
       {std::string(), std::string(64, 'a'), std::string("a b"),
        std::string("a\n"), std::string("w\xc3\xa4"), std::string("a/b"),
        std::string("a\"b")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        roster_.Register(Hello(name), {}, At(1)).status()))
        << name;
  }
  EXPECT_THAT(roster_.Present(), IsEmpty());
  for (const std::string& name :
       {std::string(63, 'a'), std::string("gpu-0.rack_1"), std::string("7")}) {
    EXPECT_TRUE(roster_.Register(Hello(name), {}, At(1)).ok()) << name;
  }
}

TEST_F(RosterTest, AMemberIsReadyOnce) {
  const WorkerId worker = Register("w0").id;
  v1::WorkerReady ready;
  ready.set_train_samples(60000);
  EXPECT_TRUE(roster_.Ready(worker, ready).ok());
  EXPECT_EQ(roster_.Find(worker)->state, MemberState::kReady);
  EXPECT_EQ(roster_.Find(worker)->ready.train_samples(), 60000u);
  EXPECT_TRUE(absl::IsFailedPrecondition(roster_.Ready(worker, ready)));
  EXPECT_TRUE(absl::IsFailedPrecondition(roster_.Ready(WorkerId{99}, ready)));
}

TEST_F(RosterTest, WorksOnlyAfterItWasReady) {
  const WorkerId worker = Register("w0").id;
  roster_.Working(worker);
  EXPECT_EQ(roster_.Find(worker)->state, MemberState::kLoading);
  EXPECT_TRUE(roster_.Ready(worker, {}).ok());
  roster_.Working(worker);
  EXPECT_EQ(roster_.Find(worker)->state, MemberState::kWorking);
  EXPECT_FALSE(roster_.Find(worker)->initialized);
  roster_.Initialized(worker);
  EXPECT_TRUE(roster_.Find(worker)->initialized);
}

TEST_F(RosterTest, RemembersWhenAMemberWasHeard) {
  const WorkerId worker = Register("w0").id;
  EXPECT_EQ(roster_.Find(worker)->last_heard, At(1));
  roster_.Heard(worker, At(5));
  EXPECT_EQ(roster_.Find(worker)->last_heard, At(5));
}

TEST_F(RosterTest, SendsToOneToAllAndToNobodyGone) {
  const WorkerId a = Register("a").id;
  const WorkerId b = Register("b").id;
  v1::WorkerCommand heartbeat;
  heartbeat.mutable_heartbeat();
  roster_.Send(a, heartbeat);
  roster_.SendToAll(heartbeat);
  EXPECT_TRUE(roster_.Gone(a));
  EXPECT_FALSE(roster_.Gone(a));
  roster_.Send(a, heartbeat);
  roster_.Close(a, absl::AbortedError("late"));
  roster_.SendToAll(heartbeat);
  roster_.Close(b, absl::AbortedError("why"));
  roster_.Send(WorkerId{99}, heartbeat);
  EXPECT_THAT(log_, ElementsAre("a heartbeat", "a heartbeat", "b heartbeat",
                                "b heartbeat", "b closed: ABORTED: why"));
}

TEST_F(RosterTest, KnowsWhoIsGoneByNameStill) {
  const Member member = Register("w0");
  EXPECT_TRUE(roster_.Gone(member.id));
  EXPECT_THAT(roster_.Present(), IsEmpty());
  EXPECT_EQ(roster_.NameOf(member.id), "w0");
  EXPECT_EQ(roster_.IncarnationOf(member.id), member.incarnation);
  EXPECT_EQ(roster_.Find(member.id)->state, MemberState::kGone);
}

TEST_F(RosterTest, NamesAStrangerByItsNumber) {
  EXPECT_EQ(roster_.NameOf(WorkerId{42}), "#42");
  EXPECT_EQ(roster_.IncarnationOf(WorkerId{42}), 0u);
  EXPECT_FALSE(roster_.Find(WorkerId{42}).has_value());
  EXPECT_FALSE(roster_.Gone(WorkerId{42}));
}

TEST_F(RosterTest, AwaitsWhatIsWanted) {
  const auto two = [](const std::vector<Member>& present) {
    return present.size() == 2;
  };
  EXPECT_FALSE(roster_.Await(two, absl::Milliseconds(1)));
  std::thread registering([this] {
    EXPECT_TRUE(roster_.Register(Hello("a"), {}, At(1)).ok());
    EXPECT_TRUE(roster_.Register(Hello("b"), {}, At(1)).ok());
  });
  EXPECT_TRUE(roster_.Await(two, absl::Minutes(1)));
  registering.join();
}

}  // namespace
}  // namespace paceline
