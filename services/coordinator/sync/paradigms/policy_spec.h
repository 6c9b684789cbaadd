#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_

#include <memory>

#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// Makes the policy of a paradigm. It cannot fail: the spec was parsed.
std::unique_ptr<SyncPolicy> MakePolicy(const ParadigmSpec& spec);
std::unique_ptr<SyncPolicy> MakePolicy(const PlainParadigm& plain);

// Each paradigm is a class in a file of its own, of which only this is seen.
std::unique_ptr<SyncPolicy> MakePolicy(const AbsSgdOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const AspOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const BspOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const CgpOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const DsspOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const ElasticBspOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const KAsyncOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const KSyncOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const PspOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const SapsOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const SspOptions& options);
std::unique_ptr<SyncPolicy> MakePolicy(const SyncSwitchOptions& options);

// The same policy with a staleness rule, which is active.
std::unique_ptr<SyncPolicy> WithStaleness(std::unique_ptr<SyncPolicy> inner,
                                          const StalenessRule& rule);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_SPEC_H_
