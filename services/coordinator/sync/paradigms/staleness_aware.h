#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_STALENESS_AWARE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_STALENESS_AWARE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// Lets stale gradients count for less, under any asynchronous policy: that one
// decides who goes on, this how much a push counts. Where the weight depends on
// the staleness, the worker asks when its gradient is ready; a discarded push
// is one push for the policy inside.
class StalenessAware final : public SyncPolicy {
 public:
  StalenessAware(std::unique_ptr<SyncPolicy> inner, const StalenessRule& rule)
      : inner_(std::move(inner)), rule_(rule) {}

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;
  absl::Time NextDeadline() const override { return inner_->NextDeadline(); }
  std::string Describe() const override {
    return AddStaleness(inner_->Describe(), rule_);
  }
  PolicyView View() const override { return inner_->View(); }

 private:
  // Passes on what the policy inside wants: its releases made to ask, its plan
  // for a push of `staleness` weighed.
  void Translate(std::vector<Action>& actions, int64_t staleness = 0);
  bool Asks() const;
  void Weigh(WorkerId worker, int64_t staleness, PushPlan plan,
             std::vector<Action>& actions) const;

  const std::unique_ptr<SyncPolicy> inner_;  // It never discards a push.
  const StalenessRule rule_;
  std::map<WorkerId, PushPlan> plans_;  // The plans of the latest releases.
  std::vector<Action> inner_actions_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_STALENESS_AWARE_H_
