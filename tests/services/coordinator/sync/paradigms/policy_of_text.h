#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_OF_TEXT_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_OF_TEXT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {

// Makes the policy that a text names. The errors are those of ParseParadigm().
inline absl::StatusOr<std::unique_ptr<SyncPolicy>> MakePolicy(
    absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(const ParadigmSpec spec, ParseParadigm(text));
  return MakePolicy(spec);
}

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_OF_TEXT_H_
