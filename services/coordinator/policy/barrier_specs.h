#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_BARRIER_SPECS_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_BARRIER_SPECS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "services/coordinator/policy/spec_reader.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// The makers of the paradigms that move a barrier, open it to a part of the
// workers or put it off, for MakePolicy()'s table. The errors are those of
// MakePolicy().
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeKSync(
    const SpecParameters& parameters);
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeKBatchSync(
    const SpecParameters& parameters);
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeBackup(
    const SpecParameters& parameters);
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeKAsync(
    const SpecParameters& parameters);
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeKBatchAsync(
    const SpecParameters& parameters);
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakePsp(
    const SpecParameters& parameters);
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeElasticBsp(
    const SpecParameters& parameters);
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeAbsSgd(
    const SpecParameters& parameters);
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeSyncSwitch(
    const SpecParameters& parameters);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_BARRIER_SPECS_H_
