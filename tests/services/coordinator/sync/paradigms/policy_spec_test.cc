
#include <string>

#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

// A policy is called what its spec says in full, whatever its parameters are.
TEST(MakePolicyTest, ThePolicyHasTheParametersOfItsSpec) {
  for (const std::string text :
       {"bsp",
        "bsp:steal=true,pieces=8",
        "bsp:steal=true,pieces=8,fill=true",
        "bsp:steal=true,pieces=8,redo=false",
        "asp",
        "ssp:s=4",
        "dssp:lower=2,upper=9,mode=bounded,release=next,interval=busy,"
        "rule=causal,"
        "fastest=within:2",
        "saps:mode=refresh,s=auto,micro_batches=4",
        "saps:mode=damp,s=3,s_max=9",
        "saps:mode=drop,s=5,starve_limit=2",
        "saps:mode=refresh,s=auto,micro_batches=8,sync_every=40",
        "cgp:beta=0.8,delta=0.5,predictive=false,patience=inf,"
        "warmup_rounds=2,alpha=0.5,regroup_every=7,drift=0.5,"
        "stale_weight=inverse,s_max=3",
        "ksync:k=3",
        "kbatchsync:k=4",
        "backup:b=2",
        "kasync:k=5",
        "kbatchasync:k=6",
        "ksync:k=auto,k0=3",
        "kbatchsync:k=auto,k0=2,loss0=2.3",
        "kasync:k=auto,k0=1,staleness_weight=inverse,staleness_cap=4",
        "kbatchasync:k=auto,k0=4,loss0=0.5",
        "psp:beta=3,s=1,seed=9",
        "elastic:r=12",
        "abs:pieces=4",
        "asp:staleness_weight=exponential,decay=0.2",
        "ssp:s=1,staleness_weight=inverse,staleness_cap=4",
        "syncswitch:first=ssp:s=2,then=abs:pieces=2,at=0.25,straggler=stay",
        "syncswitch:first=bsp,then=asp,at=0.5,straggler=drop"}) {
    const auto policy = MakePolicy(text);
    ASSERT_TRUE(policy.ok()) << policy.status();
    EXPECT_EQ((*policy)->Describe(), text);
  }
}

}  // namespace
}  // namespace paceline
