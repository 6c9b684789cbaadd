#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ASP_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ASP_H_

#include <string>
#include <vector>

#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// Asynchronous parallel: nobody ever waits, every push is applied as it
// arrives, and neither gap nor staleness is bounded (algorithms.md 5.2). It
// reports nothing, for it decides nothing.
class Asp final : public SyncPolicy {
 public:
  void Adopt(const SyncView& view, std::vector<Action>& actions) override;
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;
  std::string Describe() const override { return "asp"; }
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ASP_H_
