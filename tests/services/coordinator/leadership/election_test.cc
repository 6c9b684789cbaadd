#include "services/coordinator/leadership/election.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr absl::Time kNow = absl::UnixEpoch();

LeaderLock::Seen Nobody() { return {}; }

TEST(ElectionTest, WhoHasNoStoreLetsOthersGoFirst) {
  const Election::Options options = {.name = "c0"};
  const absl::Time late_enough = kNow + 2 * options.lease;
  Election election(options);
  EXPECT_FALSE(election.Claim(kNow, Nobody(), {}).has_value());
  EXPECT_FALSE(
      election.Claim(late_enough - absl::Seconds(1), Nobody(), {}).has_value());
  const auto claim = election.Claim(late_enough, Nobody(), {});
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(claim->holder, "c0");
  EXPECT_EQ(claim->term, 1u);
  EXPECT_EQ(claim->standby, "");
}

TEST(ElectionTest, WhoHasAStoreBeginsAtOnceBehindItsOwnTerms) {
  Election election({.name = "c0"});
  const auto claim =
      election.Claim(kNow, Nobody(), {.has_store = true, .led = 7});
  ASSERT_TRUE(claim.has_value());
  EXPECT_EQ(claim->term, 8u);
}

TEST(ElectionTest, OneMayNeverBeTheFirst) {
  Election election({.name = "c1", .may_begin = false});
  for (const int seconds : {0, 10, 1'000'000}) {
    EXPECT_FALSE(election.Claim(kNow + absl::Seconds(seconds), Nobody(), {})
                     .has_value());
  }
  // With jobs of its own it may.
  EXPECT_TRUE(election.Claim(kNow, Nobody(), {.has_store = true}).has_value());
}

TEST(ElectionTest, OnlyTheStandbyThatIsNamedFollowsAndOnlyWithItsStore) {
  const LeaderLock::Seen seen = {
      .record = LeaderRecord{.holder = "c0", .term = 3, .standby = "c1"},
      .version = "9"};
  const absl::Time later = kNow + absl::Seconds(6);
  const auto claims = [&](const char* name, const Election::Own& own) {
    Election election({.name = name});
    EXPECT_FALSE(election.Claim(kNow, seen, own).has_value());
    return election.Claim(later, seen, own).has_value();
  };
  EXPECT_TRUE(claims("c1", {.has_store = true, .followed = 3}));
  EXPECT_FALSE(claims("c1", {.has_store = true, .followed = 2}));
  EXPECT_FALSE(claims("c1", {.has_store = false, .followed = 3}));
  EXPECT_FALSE(claims("c2", {.has_store = true, .followed = 3}));
  EXPECT_FALSE(claims("c0", {.has_store = true, .led = 2}));
}

TEST(ElectionTest, WhoHasReleasedTheLeadLetsTheStandbyTakeIt) {
  const LeaderLock::Seen seen = {
      .record =
          LeaderRecord{
              .holder = "c0", .term = 3, .standby = "c1", .released = true},
      .version = "9"};
  Election before({.name = "c0"});
  const Election::Own led = {.has_store = true, .led = 3};
  EXPECT_FALSE(before.Claim(kNow, seen, led).has_value());
  Election standby({.name = "c1"});
  EXPECT_TRUE(standby.Claim(kNow, seen, {.has_store = true, .followed = 3})
                  .has_value());
  // But not for ever.
  EXPECT_TRUE(before.Claim(kNow + absl::Seconds(6), seen, led).has_value());
}

TEST(ElectionTest, WithoutTheLockWhoHearsTheOtherGoesOn) {
  const LeaderRecord record = {.holder = "c0", .term = 3, .standby = "c1"};
  const LeaderLock::Seen seen = {.record = record, .version = "9"};
  Election standby({.name = "c1"});
  const Election::Own own = {.has_store = true, .followed = 3};
  EXPECT_FALSE(standby.Claim(kNow, seen, own, /*hears=*/true).has_value());
  EXPECT_FALSE(
      standby.Claim(kNow + absl::Hours(1), seen, own, true).has_value());
  Election leader({.name = "c0"});
  ASSERT_TRUE(leader.Claimed(kNow, record, {"9"}));
  const absl::Time late = kNow + absl::Seconds(60);
  EXPECT_TRUE(leader.lost(late));
  leader.Renew(late, "c1");  // It hears the standby.
  EXPECT_FALSE(leader.lost(late));
}

}  // namespace
}  // namespace paceline
