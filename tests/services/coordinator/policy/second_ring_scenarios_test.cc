// What always holds of the paradigms that ask, abandon, refresh and hand over,
// whatever happens to their workers, over thousands of seeds.

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/policy/policy_spec.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/policy/asking_cluster.h"

namespace paceline {
namespace {

using ::testing::IsEmpty;

class SecondRingScenariosTest : public testing::TestWithParam<std::string> {
 protected:
  static AskingCluster RunSeed(uint64_t seed) {
    const auto policy = MakePolicy(GetParam());
    EXPECT_TRUE(policy.ok()) << policy.status();
    AskingCluster cluster(**policy, seed);
    cluster.Run();
    return cluster;
  }
};

TEST_P(SecondRingScenariosTest, NobodyIsForgottenAndNoRoundIsLeftOpen) {
  for (uint64_t seed = 0; seed < SeedCount(1'000); ++seed) {
    const AskingCluster cluster = RunSeed(seed);
    ASSERT_THAT(cluster.violations(), IsEmpty())
        << GetParam() << " with seed " << seed;
    ASSERT_LE(cluster.open_rounds_max(), 16u) << "seed " << seed;
  }
}

// Catches a clock, a hash order or a pointer order that crept in.
TEST_P(SecondRingScenariosTest, OneSeedGivesOneHistory) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(RunSeed(seed).trace(), RunSeed(seed).trace());
  }
  EXPECT_NE(RunSeed(7).trace(), RunSeed(8).trace());
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, SecondRingScenariosTest,
    testing::Values(
        "bsp", "asp", "ksync:k=1", "ksync:k=2", "ksync:k=100", "kbatchsync:k=1",
        "kbatchsync:k=3", "backup:b=0", "backup:b=1", "backup:b=7",
        "kasync:k=1", "kasync:k=2", "kasync:k=100", "kbatchasync:k=1",
        "kbatchasync:k=2", "kbatchasync:k=20",
        "kasync:k=2,staleness_weight=inverse,staleness_cap=1",
        "kbatchasync:k=3,staleness_weight=exponential",
        "kasync:k=3,staleness_weight=delay_compensated", "psp:beta=0,s=0",
        "psp:beta=1,s=0", "psp:beta=2,s=1", "psp:beta=1000,s=2",
        "psp:beta=2,s=0,staleness_weight=inverse", "elastic:r=1",
        "elastic:r=15", "elastic:r=4,staleness_cap=2", "abs:pieces=1",
        "abs:pieces=8", "cgp", "cgp:warmup_rounds=1,delta=0,patience=inf",
        "cgp:warmup_rounds=1,regroup_every=3,predictive=false",
        "cgp:warmup_rounds=1,beta=0.5,drift=0,patience=1",
        "cgp:warmup_rounds=2,beta=1,stale_weight=inverse",
        "cgp:warmup_rounds=1,s_max=2,stale_weight=inverse",
        "cgp:warmup_rounds=1,s_max=0", "syncswitch:at=0.5",
        "syncswitch:at=0.2,straggler=stay",
        "syncswitch:first=ksync:k=2,then=kbatchasync:k=3,at=0.4",
        "syncswitch:first=abs:pieces=4,then=backup:b=1,at=0.4",
        "syncswitch:first=psp:s=0,then=elastic:r=4,at=0.4",
        "syncswitch:first=kasync:k=2,then=ssp:s=1,at=0.4",
        "syncswitch:first=cgp:warmup_rounds=1,then=bsp,at=0.4",
        "syncswitch:first=ksync,then=cgp:warmup_rounds=1,at=0.3"));

}  // namespace
}  // namespace paceline
