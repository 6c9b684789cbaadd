#include "services/coordinator/sync/paradigms/policy_spec.h"

#include <utility>
#include <variant>

namespace paceline {

std::unique_ptr<SyncPolicy> MakePolicy(const PlainParadigm& plain) {
  std::unique_ptr<SyncPolicy> policy = std::visit(
      [](const auto& options) { return MakePolicy(options); }, plain.options);
  if (!plain.staleness.active()) return policy;
  return WithStaleness(std::move(policy), plain.staleness);
}

std::unique_ptr<SyncPolicy> MakePolicy(const ParadigmSpec& spec) {
  return std::visit([](const auto& kind) { return MakePolicy(kind); },
                    spec.kind);
}

}  // namespace paceline
