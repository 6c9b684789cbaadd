#include "services/coordinator/sync/core/membership.h"

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/core/workers_and_times.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Expired = Membership::Expired;

constexpr absl::Duration kLease = absl::Seconds(10);

// Runs one iteration of `seconds` that began at `begin`.
void Iterate(Membership& membership, WorkerId worker, double begin,
             double seconds) {
  membership.GrantOpened(At(begin), worker);
  membership.GrantClosed(At(begin + seconds), worker);
}

TEST(MembershipTest, ALeaseEndsWithoutASignOfLife) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  membership.Join(At(1), kB);
  EXPECT_EQ(membership.NextDeadline(), At(10));
  EXPECT_THAT(membership.Expire(At(9.9)), IsEmpty());
  EXPECT_THAT(membership.Expire(At(10)),
              ElementsAre(Expired{kA, LossReason::kLeaseEnded}));
  membership.Leave(kA);
  EXPECT_EQ(membership.NextDeadline(), At(11));
}

TEST(MembershipTest, AnySignOfLifeRenewsTheLease) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  membership.Heard(At(4), kA);
  EXPECT_THAT(membership.Expire(At(10)), IsEmpty());
  EXPECT_EQ(membership.NextDeadline(), At(14));
  membership.GrantOpened(At(5), kA);
  membership.GrantClosed(At(7), kA);
  EXPECT_THAT(membership.Expire(At(14)), IsEmpty());
  EXPECT_EQ(membership.NextDeadline(), At(17));
  EXPECT_THAT(membership.Expire(At(17)),
              ElementsAre(Expired{kA, LossReason::kLeaseEnded}));
}

TEST(MembershipTest, WhoWasSilentBeforeGetsNoLeaseMoreByJoining) {
  Membership membership(kLease);
  membership.Join(At(8), kA);
  membership.Join(At(8), kB);
  membership.SilentSince(At(1), kB);
  EXPECT_EQ(membership.NextDeadline(), At(11));
  EXPECT_THAT(membership.Expire(At(11)),
              ElementsAre(Expired{kB, LossReason::kLeaseEnded}));
  membership.Leave(kB);
  EXPECT_EQ(membership.NextDeadline(), At(18));
}

TEST(MembershipTest, AGrantIsNoSignOfLife) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  membership.GrantOpened(At(9), kA);
  EXPECT_THAT(membership.Expire(At(10)),
              ElementsAre(Expired{kA, LossReason::kLeaseEnded}));
}

TEST(MembershipTest, TenLeasesAreAllowedBeforeTheSecondPush) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  Iterate(membership, kA, 0, 1);
  membership.GrantOpened(At(1), kA);
  for (int second = 2; second <= 100; ++second) {
    membership.Heard(At(second), kA);
    ASSERT_THAT(membership.Expire(At(second)), IsEmpty());
  }
  EXPECT_EQ(membership.NextDeadline(), At(101));
  membership.Heard(At(101), kA);
  EXPECT_THAT(membership.Expire(At(101)),
              ElementsAre(Expired{kA, LossReason::kStuck}));
}

TEST(MembershipTest, AShortMedianAllowsOneLease) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  for (int i = 0; i < 5; ++i) Iterate(membership, kA, i * 0.1, 0.1);
  membership.GrantOpened(At(1), kA);
  membership.Heard(At(10), kA);
  EXPECT_THAT(membership.Expire(At(10.9)), IsEmpty());
  EXPECT_THAT(membership.Expire(At(11)),
              ElementsAre(Expired{kA, LossReason::kStuck}));
}

TEST(MembershipTest, ALongMedianAllowsTenTimesAsMuch) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  // The median of the latest 15 is 3 s, whatever came before and whatever a
  // single iteration took.
  for (int i = 0; i < 20; ++i) Iterate(membership, kA, i, 0.5);
  for (int i = 0; i < 14; ++i) Iterate(membership, kA, 20 + 3 * i, 3);
  Iterate(membership, kA, 62, 30);
  membership.GrantOpened(At(100), kA);
  for (int second = 101; second < 130; ++second) {
    membership.Heard(At(second), kA);
    ASSERT_THAT(membership.Expire(At(second)), IsEmpty());
  }
  membership.Heard(At(130), kA);
  EXPECT_THAT(membership.Expire(At(130)),
              ElementsAre(Expired{kA, LossReason::kStuck}));
}

TEST(MembershipTest, WhoWaitsForServersIsNotStuckHimself) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  for (int i = 0; i < 5; ++i) Iterate(membership, kA, i * 0.1, 0.1);
  membership.GrantOpened(At(1), kA);
  // What is waited for comes, and then it computes for ever.
  for (int second = 2; second <= 30; second += 2) {
    membership.Heard(At(second), kA);
    membership.WaitsForServers(At(second), kA);
    ASSERT_THAT(membership.Expire(At(second)), IsEmpty()) << second;
  }
  membership.Heard(At(38), kA);
  EXPECT_THAT(membership.Expire(At(39.9)), IsEmpty());
  EXPECT_THAT(membership.Expire(At(40)),
              ElementsAre(Expired{kA, LossReason::kStuck}));
}

TEST(MembershipTest, NobodyWaitsForServersForEver) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  for (int i = 0; i < 5; ++i) Iterate(membership, kA, i * 0.1, 0.1);
  membership.GrantOpened(At(1), kA);
  for (int second = 2; second <= 100; ++second) {
    membership.Heard(At(second), kA);
    membership.WaitsForServers(At(second), kA);
    ASSERT_THAT(membership.Expire(At(second)), IsEmpty()) << second;
  }
  EXPECT_THAT(membership.Expire(At(101)),
              ElementsAre(Expired{kA, LossReason::kStuck}));
}

TEST(MembershipTest, WhoHasNoGrantIsNeverStuck) {
  Membership membership(kLease);
  membership.Join(At(0), kA);
  for (int i = 0; i < 5; ++i) Iterate(membership, kA, i * 0.1, 0.1);
  for (int second = 1; second < 500; ++second) {
    membership.Heard(At(second), kA);
    ASSERT_THAT(membership.Expire(At(second)), IsEmpty());
  }
}

TEST(MembershipTest, GivesUpSeveralAtOnceById) {
  Membership membership(kLease);
  membership.Join(At(0), kB);
  membership.Join(At(1), kA);
  EXPECT_THAT(membership.Expire(At(20)),
              ElementsAre(Expired{kA, LossReason::kLeaseEnded},
                          Expired{kB, LossReason::kLeaseEnded}));
}

TEST(MembershipTest, NobodyIsNoDeadline) {
  Membership membership(kLease);
  EXPECT_EQ(membership.NextDeadline(), absl::InfiniteFuture());
  membership.Join(At(0), kA);
  membership.Leave(kA);
  EXPECT_EQ(membership.NextDeadline(), absl::InfiniteFuture());
  EXPECT_THAT(membership.Expire(At(100)), IsEmpty());
}

}  // namespace
}  // namespace paceline
