#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_CGP_SPEC_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_CGP_SPEC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "services/coordinator/policy/spec_reader.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// The maker of CGP, for MakePolicy()'s table. The errors are those of
// MakePolicy().
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeCgp(
    const SpecParameters& parameters);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_CGP_SPEC_H_
