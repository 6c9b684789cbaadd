#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_

#include <memory>

#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// Makes the policy of a paradigm. It cannot fail: the spec was parsed.
std::unique_ptr<SyncPolicy> MakePolicy(const ParadigmSpec& spec);
std::unique_ptr<SyncPolicy> MakePolicy(const PlainParadigm& plain);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_
