#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/parameter_server/replica_entry.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReplicaLogTest : public ::testing::Test {
 protected:
  uint64_t Begin(bool hold = false) {
    return following_ = log_.Begin(hold, [this] { ++wakes_; });
  }
  void Append(uint64_t sequence, bool acknowledge = false) {
    log_.Append(following_, CommandEntry{.sequence = sequence}, acknowledge);
  }
  void Ask(const std::string& name) {
    log_.WhenHeld([this, name] { told_.push_back(name); });
  }
  // Everything that is to be sent; how much of it is to be acknowledged.
  std::pair<int, int> TakeAll() {
    std::pair<int, int> taken;
    while (const auto entry = log_.Take(following_)) {
      ++taken.first;
      taken.second += entry->acknowledge ? 1 : 0;
    }
    return taken;
  }
  // Whether the backup is complete with that.
  bool Acknowledged(uint64_t entries) {
    const auto complete = log_.Acknowledged(following_, entries);
    EXPECT_TRUE(complete.ok()) << complete.status();
    return complete.ok() && *complete;
  }
  // One that has everything.
  void Fill() {
    Begin();
    log_.Append(following_, FilledEntry{});
    TakeAll();
    EXPECT_TRUE(Acknowledged(1));
  }

  ReplicaLog log_{/*max_waiting_bytes=*/100};
  uint64_t following_ = 0;
  int wakes_ = 0;
  std::vector<std::string> told_;
};

TEST_F(ReplicaLogTest, WithoutABackupEverybodyIsToldAtOnce) {
  EXPECT_EQ(log_.following(), 0u);
  Append(1);
  Ask("a");
  EXPECT_THAT(told_, ElementsAre("a"));
  EXPECT_EQ(log_.lag(), 0u);
}

TEST_F(ReplicaLogTest, WithOneOnceItHasWhatWasAppended) {
  Fill();
  Append(1, /*acknowledge=*/true);
  Ask("a");
  Append(2, /*acknowledge=*/true);
  Ask("b");
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(TakeAll(), std::pair(2, 2));
  Acknowledged(2);
  EXPECT_THAT(told_, ElementsAre("a"));
  Acknowledged(3);
  EXPECT_THAT(told_, ElementsAre("a", "b"));
  Ask("c");
  EXPECT_THAT(told_, ElementsAre("a", "b", "c")) << "it has it already";
}

TEST_F(ReplicaLogTest, WhatNobodyAskedForIsMarkedOnceSomebodyDoes) {
  Fill();
  Append(1);
  EXPECT_EQ(TakeAll(), std::pair(1, 0));
  EXPECT_FALSE(log_.awaits_acknowledgement());
  Ask("a");
  EXPECT_EQ(TakeAll(), std::pair(1, 1));
  EXPECT_TRUE(log_.awaits_acknowledgement());
  Acknowledged(3);
  EXPECT_THAT(told_, ElementsAre("a"));
  EXPECT_FALSE(log_.awaits_acknowledgement());
}

TEST_F(ReplicaLogTest, WhoIsToldWhileItIsFilledMakesItCompleteLater) {
  Begin();
  log_.Append(following_, FilledEntry{});
  Append(1, /*acknowledge=*/true);
  Ask("a");
  EXPECT_THAT(told_, ElementsAre("a"));
  Append(2);
  TakeAll();
  EXPECT_FALSE(Acknowledged(1)) << "it lacks what was told";
  Ask("b");
  EXPECT_THAT(told_, ElementsAre("a")) << "nobody is told alone any more";
  EXPECT_EQ(TakeAll(), std::pair(1, 1)) << "a mark behind the last one";
  EXPECT_FALSE(Acknowledged(2));
  EXPECT_TRUE(Acknowledged(4));
  EXPECT_THAT(told_, ElementsAre("a", "b"));
}

TEST_F(ReplicaLogTest, HeldBackNobodyIsToldUntilItIsFilled) {
  log_.End(/*hold=*/true);
  Ask("a");
  Begin(/*hold=*/true);
  Append(1, /*acknowledge=*/true);
  Ask("b");
  log_.Append(following_, FilledEntry{});
  TakeAll();
  EXPECT_FALSE(Acknowledged(1));
  EXPECT_THAT(told_, IsEmpty()) << "it could not take over yet";
  EXPECT_TRUE(Acknowledged(2));
  EXPECT_THAT(told_, ElementsAre("a", "b"));
}

TEST_F(ReplicaLogTest, HeldBackWhoWaitsForOneThatIsGoneWaitsForTheNext) {
  Fill();
  Append(1, /*acknowledge=*/true);
  Ask("a");
  log_.End(/*hold=*/true);
  EXPECT_THAT(told_, IsEmpty());
  Begin(/*hold=*/true);
  log_.Append(following_, FilledEntry{});
  TakeAll();
  EXPECT_TRUE(Acknowledged(1));
  EXPECT_THAT(told_, ElementsAre("a"));
}

TEST_F(ReplicaLogTest, AfterABreakNobodyIsToldBeforeTheCoordinatorHasSpoken) {
  Fill();
  Append(1, true);
  Ask("a");
  log_.Suspend(following_);
  EXPECT_EQ(log_.following(), 0u);
  Ask("b");
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(log_.Acknowledged(following_, 2).status()))
      << "it may have been promoted without that";
  EXPECT_THAT(told_, IsEmpty());
  log_.End(/*hold=*/false);
  EXPECT_THAT(told_, ElementsAre("a", "b"));
}

TEST_F(ReplicaLogTest, AnotherBackupHasWhatTheOneBeforeLacked) {
  Fill();
  Append(1, true);
  Ask("a");
  log_.Suspend(following_);
  Begin(/*hold=*/true);
  log_.Append(following_, FilledEntry{});
  TakeAll();
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_TRUE(Acknowledged(1));
  EXPECT_THAT(told_, ElementsAre("a"));
}

TEST_F(ReplicaLogTest, AStreamOfBeforeChangesNothing) {
  const uint64_t before = Begin();
  Begin();
  log_.Append(before, CommandEntry{});
  log_.Suspend(before);
  EXPECT_EQ(log_.following(), following_);
  EXPECT_EQ(TakeAll(), std::pair(0, 0));
  EXPECT_EQ(log_.Take(before), std::nullopt);
}

TEST_F(ReplicaLogTest, AReplacedPrimaryTellsNobodyAnyMore) {
  Fill();
  Append(1, true);
  Ask("a");
  log_.Close();
  Ask("b");
  log_.End(/*hold=*/false);
  EXPECT_EQ(Begin(), 0u);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(ReplicaLogTest, MoreThanWasSentCannotBeAcknowledged) {
  Begin();
  Append(1);
  Append(2);
  log_.Take(following_);
  EXPECT_TRUE(
      absl::IsInvalidArgument(log_.Acknowledged(following_, 2).status()));
}

TEST_F(ReplicaLogTest, WakesWhoeverTakesWhenThereIsSomethingAgain) {
  Begin();
  Append(1);
  Append(2);
  EXPECT_EQ(wakes_, 1);
  TakeAll();
  Append(3);
  EXPECT_EQ(wakes_, 2);
}

TEST_F(ReplicaLogTest, GradientsThatWaitAreBounded) {
  const std::string bytes(60, 'x');
  const auto append = [&] {
    log_.Append(following_, PushEntry{.payload = Payload(bytes), .owner = {}});
  };
  int rooms = 0;
  const auto await = [&] { return log_.AwaitRoom([&rooms] { ++rooms; }); };
  Begin();
  append();
  EXPECT_FALSE(await());
  append();
  EXPECT_TRUE(await());
  log_.Take(following_);
  EXPECT_EQ(rooms, 0) << "half of it must be free";
  log_.Take(following_);
  EXPECT_EQ(rooms, 1);
  append();
  append();
  EXPECT_TRUE(await());
  log_.Suspend(following_);
  EXPECT_EQ(rooms, 2) << "nothing waits any more";
}

}  // namespace
}  // namespace paceline
