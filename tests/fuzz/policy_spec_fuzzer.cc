// The text of a paradigm, of a job or a flag.

#include "tests/fuzz/fuzz_target.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  return {
      "bsp",
      "bsp:steal=true,pieces=8,fill=true",
      "asp:staleness_weight=exponential,decay=0.1,staleness_cap=7",
      "ssp:s=3",
      "dssp:lower=3,upper=15,mode=bounded,interval=busy,rule=causal",
      "dssp:fastest=within:2",
      "saps:mode=refresh,s=auto,s_max=4,micro_batches=8,starve_limit=10",
      "cgp:beta=0.9,delta=0.25,predictive=true,patience=1.5,warmup_rounds=5,"
      "alpha=0.3,regroup_every=50,drift=0.25,stale_weight=inverse,s_max=none",
      "ksync:k=2",
      "kbatchsync:k=auto,k0=3,loss0=2.5",
      "kbatchsync:k=2",
      "backup:b=1",
      "kasync:k=2,lambda=0.04",
      "kbatchasync:k=2",
      "psp:beta=2,s=3,seed=1",
      "elastic:r=15",
      "abs:pieces=8",
      "syncswitch:first=bsp,then=ssp:s=3,at=0.05,straggler=leave"};
}

void FuzzOne(absl::string_view input) {
  const auto policy = MakePolicy(input);
  ExpectInvalidArgument(policy.status());
  if (!policy.ok()) return;
  // What it is called in full names the same policy.
  const std::string full = (*policy)->Describe();
  const auto again = MakePolicy(full);
  CHECK(again.ok() && (*again)->Describe() == full);
}

}  // namespace paceline
