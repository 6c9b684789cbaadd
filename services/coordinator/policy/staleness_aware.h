#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_STALENESS_AWARE_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_STALENESS_AWARE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

enum class StalenessWeight : uint8_t {
  kNone,
  // 1 / (staleness + 1): DynSGD (Jiang et al., SIGMOD 2017) in the form of
  // dist-keras, algorithms.md 5.6.
  kInverse,
  kExponential,  // exp(-decay * staleness)
  // Full weight, but the servers correct the gradient for what the weights have
  // moved since it was taken: DC-ASGD (Zheng et al., ICML 2017), 5.8.
  kDelayCompensated,
};

struct StalenessRule {
  StalenessWeight weight = StalenessWeight::kNone;
  double decay = 0.1;          // Of kExponential; at least 0.
  double lambda = 0.04;        // Of kDelayCompensated; at least 0.
  std::optional<int64_t> cap;  // A push beyond this staleness is discarded.

  // Whether it changes anything.
  bool active() const {
    return weight != StalenessWeight::kNone || cap.has_value();
  }
};

// Lets stale gradients count for less, under any asynchronous policy: that one
// decides who goes on, this how much a push counts. Where the weight depends on
// the staleness, the worker asks when its gradient is ready; a discarded push
// is one push for the policy inside.
class StalenessAware final : public SyncPolicy {
 public:
  StalenessAware(std::unique_ptr<SyncPolicy> inner, const StalenessRule& rule)
      : inner_(std::move(inner)), rule_(rule) {}

  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;
  absl::Time NextDeadline() const override { return inner_->NextDeadline(); }
  std::string Describe() const override;
  PolicyView View() const override { return inner_->View(); }

 private:
  // Passes on what the policy inside wants: its releases made to ask, its plan
  // for a push of `staleness` weighed.
  void Translate(std::vector<Action>& actions, int64_t staleness = 0);
  bool Asks() const;
  void Weigh(WorkerId worker, int64_t staleness, PushPlan plan,
             std::vector<Action>& actions) const;

  const std::unique_ptr<SyncPolicy> inner_;  // Never discards.
  const StalenessRule rule_;
  std::map<WorkerId, PushPlan> plans_;  // As last released.
  std::vector<Action> inner_actions_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_STALENESS_AWARE_H_
