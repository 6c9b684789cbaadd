#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// Makes the policy of a paradigm. It cannot fail: the spec was parsed.
std::unique_ptr<SyncPolicy> MakePolicy(const ParadigmSpec& spec);
std::unique_ptr<SyncPolicy> MakePolicy(const PlainParadigm& plain);

// Makes the policy that a text names. The errors are those of ParseParadigm().
absl::StatusOr<std::unique_ptr<SyncPolicy>> MakePolicy(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_
