#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_POLICY_SPEC_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_POLICY_SPEC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// Makes the policy that a spec names:
//
//   bsp
//   asp
//   ssp:s=3
//   dssp:lower=3,upper=15,mode=paper|exact|bounded,interval=push|busy,
//        rule=abs|causal,fastest=max|within:K
//
//   saps:mode=refresh|damp|drop,s=auto,s_max=auto,micro_batches=8,
//        starve_limit=10
//
//   cgp:beta=0.9,delta=0.25,predictive=true|false,patience=1.5,
//       warmup_rounds=5,alpha=0.3,regroup_every=50,drift=0.25,
//       stale_weight=none|inverse,s_max=none
//
// The asynchronous ones that leave the weight of a push alone (asp, ssp, dssp,
// psp, elastic, kasync, kbatchasync) also take
//
//   staleness_weight=none|inverse|exponential|delay_compensated,decay=0.1,
//   lambda=0.04,staleness_cap=none
//
// Made in barrier_specs.h:
//
//   ksync:k=2            kbatchsync:k=2      backup:b=1
//   kasync:k=2           kbatchasync:k=2
//   psp:beta=2,s=3,seed=1
//   elastic:r=15
//   abs:pieces=8
//   syncswitch:first=bsp,then=asp,at=0.05,straggler=leave|stay
//
// The two specs within a syncswitch have no ','.
//
// Parameters left out take the values shown first. INVALID_ARGUMENT, with what
// is wrong and what would be right, for an unknown name or parameter, a
// parameter given twice, a value that is no number or out of its range, or
// lower > upper.
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakePolicy(absl::string_view spec);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_POLICY_SPEC_H_
