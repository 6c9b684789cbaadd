#include "services/coordinator/run/course/shard_map.h"

#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

std::string Text(const ShardAction& action) {
  return std::visit(
      Overloaded{[](const HostBackup& a) {
                   return absl::StrCat("host s", a.server, " shard ", a.shard,
                                       " e", a.epoch);
                 },
                 [](const SetBackup& a) {
                   return absl::StrCat(
                       "set s", a.server, " shard ", a.shard, " e", a.epoch,
                       " ", a.backup ? absl::StrCat("s", *a.backup) : "none",
                       a.hold ? " hold" : "");
                 },
                 [](const PromoteBackup& a) {
                   return absl::StrCat("promote s", a.server, " shard ",
                                       a.shard, " e", a.epoch,
                                       a.hold ? " hold" : "");
                 },
                 [](const DropShard& a) {
                   return absl::StrCat("drop s", a.server, " shard ", a.shard);
                 },
                 [](const ShardMoved& a) {
                   return absl::StrCat("moved shard ", a.shard, " s", a.server,
                                       " e", a.epoch);
                 },
                 [](const RebuildShard& a) {
                   return absl::StrCat("rebuild shard ", a.shard, " s",
                                       a.server, " e", a.epoch);
                 },
                 [](const FillShard& a) {
                   return absl::StrCat("weights for shard ", a.shard, " s",
                                       a.server, " e", a.epoch);
                 },
                 [](const ShardLost& a) {
                   return absl::StrCat("lost shard ", a.shard, ": ", a.why);
                 },
                 [](const ShardNotice&) { return std::string(); }},
      action);
}

class ShardMapTest : public ::testing::Test {
 protected:
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  void Make(int servers, uint32_t replicas = 1, bool strict = false,
            const std::vector<std::string>& domains = {},
            absl::Duration rebuilding = absl::ZeroDuration()) {
    std::vector<RunServer> are;
    for (int i = 0; i < servers; ++i) {
      are.push_back({.name = absl::StrCat("s", i),
                     .failure_domain = domains.empty() ? "" : domains[i],
                     .replicates = true});
    }
    map_.emplace(ShardMap::Options{.replicas = replicas,
                                   .strict = strict,
                                   .patience = kPatience,
                                   .retry = absl::Seconds(30),
                                   .rebuilding = rebuilding},
                 are);
    map_->SetBytes(std::vector<int64_t>(servers, 100));
  }
  // What was decided since the last call, without what is for people.
  std::vector<std::string> Taken() {
    std::vector<std::string> texts;
    for (const ShardAction& action : std::exchange(actions_, {})) {
      const std::string text = Text(action);
      if (!text.empty()) texts.push_back(text);
    }
    return texts;
  }
  // Whoever is asked to be a backup can, and gets everything at once.
  void Fill() {
    for (size_t i = 0; i < map_->shards().size(); ++i) {
      const int shard = static_cast<int>(i);
      const ShardMap::Shard& of = map_->shards()[i];
      if (of.state == ShardMap::BackupState::kHosting) {
        map_->Reported(now_, of.backup, shard, of.epoch, {}, actions_);
      }
      if (of.state == ShardMap::BackupState::kFilling) {
        map_->Reported(now_, of.primary, shard, of.epoch, {}, actions_);
      }
    }
  }
  void Begin() { map_->Begin(now_, actions_); }
  void Gone(int server) { map_->Gone(now_, server, actions_); }

  absl::Time now_ = absl::UnixEpoch();
  std::optional<ShardMap> map_;
  ShardMap::Actions actions_;
};

TEST_F(ShardMapTest, NothingIsDecidedWithoutReplicas) {
  Make(2, /*replicas=*/0);
  Begin();
  EXPECT_THAT(Taken(), ElementsAre());
  EXPECT_EQ(map_->without_backup(), 0u);
  Gone(1);
  EXPECT_THAT(Taken(), ElementsAre("lost shard 1: no other server has it"));
  EXPECT_EQ(map_->Lost(), 1);
}

class RebuildingTest : public ShardMapTest {
 protected:
  static constexpr absl::Duration kLimit = absl::Seconds(20);

  void MakeRebuilding(int servers) {
    Make(servers, /*replicas=*/0, /*strict=*/false, {}, kLimit);
    Begin();
  }
};

TEST_F(RebuildingTest, AShardThatIsLostBeginsAnewOnAnotherServer) {
  MakeRebuilding(2);
  Gone(1);
  EXPECT_THAT(Taken(), ElementsAre("rebuild shard 1 s0 e2"));
  EXPECT_TRUE(map_->shards()[1].promoting) << "commands wait";
  map_->Reported(now_, 0, 1, /*epoch=*/1, {}, actions_);
  EXPECT_THAT(Taken(), ElementsAre()) << "an old epoch";
  map_->Reported(now_, 0, 1, 2, {}, actions_);
  EXPECT_THAT(Taken(), ElementsAre("weights for shard 1 s0 e2"));
  EXPECT_FALSE(map_->Filled(now_, 1, /*epoch=*/1, actions_));
  EXPECT_TRUE(map_->Filled(now_, 1, 2, actions_));
  EXPECT_THAT(Taken(), ElementsAre("moved shard 1 s0 e2"));
  EXPECT_FALSE(map_->Filled(now_, 1, 2, actions_)) << "once";
  EXPECT_EQ(map_->rebuilt(), 1u);
  EXPECT_FALSE(map_->Lost().has_value());
  now_ += kLimit;
  map_->TimePassed(now_, actions_);
  EXPECT_THAT(Taken(), ElementsAre());
}

TEST_F(RebuildingTest, TheOnlyServerIsWaitedForAWhile) {
  MakeRebuilding(1);
  Gone(0);
  EXPECT_THAT(Taken(), ElementsAre());
  EXPECT_EQ(map_->NextDeadline(now_), now_ + kLimit);
  map_->Came(now_, {.name = "s0", .replicates = true}, actions_);
  EXPECT_THAT(Taken(), ElementsAre("rebuild shard 0 s1 e2"));
  // It dies, too.
  Gone(1);
  EXPECT_THAT(Taken(), ElementsAre("drop s1 shard 0"));
  now_ += kLimit;
  map_->TimePassed(now_, actions_);
  EXPECT_THAT(Taken(),
              ElementsAre("lost shard 0: no other server has room for it"));
}

TEST_F(RebuildingTest, OneWithoutRoomIsPassedOver) {
  MakeRebuilding(3);
  Gone(2);
  EXPECT_THAT(Taken(), ElementsAre("rebuild shard 2 s0 e2"));
  map_->Reported(now_, 0, 2, 2, absl::ResourceExhaustedError("full"), actions_);
  EXPECT_THAT(Taken(), ElementsAre("rebuild shard 2 s1 e3"));
}

TEST_F(RebuildingTest, WeightsThatDoNotComeAreAskedForAnewAndThenNoMore) {
  MakeRebuilding(2);
  Gone(1);
  map_->Reported(now_, 0, 1, 2, {}, actions_);
  Taken();
  map_->RebuildAnew(now_, 1, actions_);
  EXPECT_THAT(Taken(), ElementsAre("drop s0 shard 1", "rebuild shard 1 s0 e3"));
  map_->Unfillable(1, "nobody has any", actions_);
  EXPECT_THAT(Taken(), ElementsAre("lost shard 1: nobody has any"));
  map_->Unfillable(1, "nobody has any", actions_);
  EXPECT_THAT(Taken(), ElementsAre()) << "once";
}

TEST_F(RebuildingTest, AShardWithABackupIsNotRebuilt) {
  Make(3, /*replicas=*/1, /*strict=*/false, {}, kLimit);
  Begin();
  Fill();
  Taken();
  Gone(0);
  EXPECT_THAT(Taken(), Contains("promote s1 shard 0 e3"));
  // Its backup has not everything yet: both are gone.
  EXPECT_TRUE(map_->Promoted(now_, 1, 0, 3, actions_));
  Taken();
  Gone(1);
  EXPECT_THAT(Taken(),
              IsSupersetOf({"drop s2 shard 0", "rebuild shard 0 s2 e5"}));
}

TEST_F(ShardMapTest, EachShardGetsABackupOnAnotherServer) {
  Make(3);
  Begin();
  EXPECT_THAT(Taken(), ElementsAre("host s1 shard 0 e2", "host s2 shard 1 e2",
                                   "host s0 shard 2 e2"));
  map_->Reported(now_, 1, 0, 2, {}, actions_);
  EXPECT_THAT(Taken(), ElementsAre("set s0 shard 0 e2 s1"));
  EXPECT_EQ(map_->without_backup(), 3u);
  map_->Reported(now_, 0, 0, 2, {}, actions_);
  EXPECT_THAT(Taken(), ElementsAre());
  EXPECT_EQ(map_->without_backup(), 2u);
}

TEST_F(ShardMapTest, ABackupThatIsReadyTakesOver) {
  Make(3);
  Begin();
  Fill();
  Taken();
  Gone(0);
  // Shard 2 has lost its backup, shard 0 its primary.
  EXPECT_THAT(Taken(), ElementsAre("promote s1 shard 0 e3", "drop s0 shard 0",
                                   "drop s0 shard 2", "set s2 shard 2 e3 none",
                                   "host s1 shard 2 e4"));
  EXPECT_FALSE(map_->Promoted(now_, 1, 0, 2, actions_)) << "an old epoch";
  EXPECT_TRUE(map_->Promoted(now_, 1, 0, 3, actions_));
  EXPECT_THAT(Taken(),
              ElementsAre("moved shard 0 s1 e3", "host s2 shard 0 e4"));
  EXPECT_FALSE(map_->Lost().has_value());
  EXPECT_EQ(map_->failovers(), 1u);
}

TEST_F(ShardMapTest, AShardWhoseBackupIsNotReadyIsLostWithItsPrimary) {
  Make(2);
  Begin();
  Gone(0);
  EXPECT_EQ(map_->Lost(), 0);
}

TEST_F(ShardMapTest, ABrokenLinkIsReasonEnoughAfterAWhile) {
  Make(3);
  Begin();
  Fill();
  Taken();
  map_->LinkChanged(now_, 0, 1, false, actions_);
  EXPECT_EQ(map_->NextDeadline(now_), now_ + kPatience);
  now_ += kPatience / 2;
  map_->TimePassed(now_, actions_);
  EXPECT_THAT(Taken(), ElementsAre());
  now_ += kPatience / 2;
  map_->TimePassed(now_, actions_);
  EXPECT_THAT(Taken(), ElementsAre("promote s1 shard 0 e3", "drop s0 shard 0"));
}

TEST_F(ShardMapTest, ALinkThatIsWholeAgainIsNone) {
  Make(3);
  Begin();
  Fill();
  Taken();
  map_->LinkChanged(now_, 0, 1, false, actions_);
  map_->LinkChanged(now_, 0, 2, true, actions_);
  map_->LinkChanged(now_, 0, 1, false, actions_);  // Told late.
  now_ += absl::Hours(1);
  map_->TimePassed(now_, actions_);
  EXPECT_THAT(Taken(), ElementsAre());
}

TEST_F(ShardMapTest, WhereAllLinksBrokeTheFirstThatIsBackAccusesNobody) {
  Make(2);
  Begin();
  Fill();
  Taken();
  map_->LinkChanged(now_, 0, 1, false, actions_);
  map_->LinkChanged(now_, 1, 1, false, actions_);
  now_ += absl::Seconds(20);
  map_->TimePassed(now_, actions_);
  map_->LinkChanged(now_, 1, 2, true, actions_);
  now_ += kPatience / 2;
  map_->LinkChanged(now_, 0, 2, true, actions_);
  now_ += absl::Hours(1);
  map_->TimePassed(now_, actions_);
  EXPECT_THAT(Taken(), ElementsAre());
}

TEST_F(ShardMapTest, OneWithoutRoomIsNotAskedAgainForAWhile) {
  Make(3);
  Begin();
  Taken();
  map_->Reported(now_, 1, 0, 2, absl::ResourceExhaustedError("full"), actions_);
  EXPECT_THAT(Taken(), ElementsAre("drop s1 shard 0", "host s2 shard 0 e4"));
  map_->Reported(now_, 2, 0, 4, absl::ResourceExhaustedError("full"), actions_);
  EXPECT_THAT(Taken(), ElementsAre("drop s2 shard 0"));
  now_ += absl::Seconds(30);
  map_->TimePassed(now_, actions_);
  EXPECT_THAT(Taken(), ElementsAre("host s1 shard 0 e6"));
}

TEST_F(ShardMapTest, WhoLeavesHandsItsShardsOver) {
  Make(3, /*replicas=*/0);
  Begin();
  EXPECT_TRUE(map_->CanHandOver(0));
  map_->SetLeaving(now_, 0, true, actions_);
  EXPECT_THAT(Taken(), ElementsAre("host s1 shard 0 e2"));
  Fill();
  EXPECT_THAT(Taken(), ElementsAre("set s0 shard 0 e2 s1",
                                   "promote s1 shard 0 e3", "drop s0 shard 0"));
  EXPECT_TRUE(map_->Promoted(now_, 1, 0, 3, actions_));
  EXPECT_THAT(Taken(), ElementsAre("moved shard 0 s1 e3"));
  EXPECT_FALSE(map_->Hosts(0));
}

TEST_F(ShardMapTest, TheLastServerCannotHandOver) {
  Make(2, /*replicas=*/0);
  Begin();
  map_->SetLeaving(now_, 1, true, actions_);
  EXPECT_TRUE(map_->CanHandOver(1));
  EXPECT_FALSE(map_->CanHandOver(0));
}

TEST_F(ShardMapTest, ABackupLiesInAnotherFailureDomainWhereOneIs) {
  Make(3, 1, false, {"node-a", "node-a", "node-b"});
  Begin();
  EXPECT_THAT(Taken(), ElementsAre("host s2 shard 0 e2", "host s2 shard 1 e2",
                                   "host s0 shard 2 e2"));
}

TEST_F(ShardMapTest, StrictShardsWaitForTheirBackups) {
  Make(2, 1, /*strict=*/true);
  Begin();
  EXPECT_THAT(Taken(), ElementsAre("set s0 shard 0 e2 none hold",
                                   "set s1 shard 1 e2 none hold",
                                   "host s1 shard 0 e3", "host s0 shard 1 e3"));
  Fill();
  EXPECT_THAT(Taken(), ElementsAre("set s0 shard 0 e3 s1 hold",
                                   "set s1 shard 1 e3 s0 hold"));
  Gone(1);
  EXPECT_THAT(Taken(),
              ElementsAre("drop s1 shard 0", "set s0 shard 0 e4 none hold",
                          "promote s0 shard 1 e4 hold", "drop s1 shard 1"));
}

// Or it would wait for the one that is gone until another is chosen and filled.
TEST_F(ShardMapTest, APrimaryHearsAfterARestartThatItsBackupIsGone) {
  for (const uint64_t held : {2u, 3u}) {
    Make(3);
    Begin();
    Fill();
    Taken();
    Gone(1);
    EXPECT_THAT(Taken(),
                IsSupersetOf({"set s0 shard 0 e3 none", "host s2 shard 0 e4"}));
    map_->CoordinatorRestarted(now_, now_ + kPatience);
    EXPECT_TRUE(
        map_->Returned(now_, 0, {{.shard = 0, .epoch = held}}, actions_));
    EXPECT_EQ(absl::c_count(Taken(), "set s0 shard 0 e3 none"),
              held < 3 ? 1 : 0);
  }
}

TEST_F(ShardMapTest, AServerThatComesIsUsed) {
  Make(2);
  Begin();
  Fill();
  Gone(1);
  EXPECT_TRUE(map_->Promoted(now_, 0, 1, 3, actions_));
  Taken();
  EXPECT_EQ(map_->without_backup(), 2u);
  map_->Came(now_, {.name = "s1", .replicates = true}, actions_);
  EXPECT_THAT(Taken(), ElementsAre("host s2 shard 0 e4", "host s2 shard 1 e4"));
}

}  // namespace
}  // namespace paceline
