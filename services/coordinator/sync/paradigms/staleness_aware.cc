#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

// Lets stale gradients count for less, under any asynchronous policy: that one
// decides who goes on, this how much a push counts. Where the weight depends on
// the staleness, the worker asks when its gradient is ready; a discarded push
// is one push for the policy inside.
class StalenessAware final : public SyncPolicy {
 public:
  StalenessAware(std::unique_ptr<SyncPolicy> inner, const StalenessRule& rule)
      : inner_(std::move(inner)), rule_(rule) {}

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    inner_->Adopt(view, inner_actions_);
    Translate(actions);
  }

  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    const auto* const ready = std::get_if<GradientReady>(&event);
    if (ready == nullptr) {
      inner_->Apply(view, event, inner_actions_);
      Translate(actions);
      if (const auto* const left = std::get_if<Left>(&event)) {
        plans_.erase(left->worker);
      }
      return;
    }
    const PushPlan& plan = plans_.at(ready->worker);
    if (plan.kind != PushPlan::Kind::kAsk) {
      Weigh(ready->worker, ready->staleness, plan, actions);
      return;
    }
    // The policy inside plans pushes when they are ready, too.
    inner_->Apply(view, event, inner_actions_);
    Translate(actions, ready->staleness);
  }

  absl::Time NextDeadline() const override { return inner_->NextDeadline(); }
  std::string Describe() const override {
    return AddStaleness(inner_->Describe(), rule_);
  }
  PolicyView View() const override { return inner_->View(); }

 private:
  // Passes on what the policy inside wants: its releases made to ask, its plan
  // for a push of `staleness` weighed.
  void Translate(std::vector<Action>& actions, int64_t staleness = 0) {
    for (Action& action : inner_actions_) {
      if (const auto* const answer = std::get_if<PlanPush>(&action)) {
        Weigh(answer->worker, staleness, answer->plan, actions);
        continue;
      }
      if (auto* const release = std::get_if<Release>(&action)) {
        plans_[release->worker] = release->plan;
        if (Asks()) release->plan = PushPlan::Ask();
        Compensate(release->plan);
      }
      actions.push_back(std::move(action));
    }
    inner_actions_.clear();
  }

  bool Asks() const {
    return rule_.cap.has_value() || rule_.weight == StalenessWeight::kInverse ||
           rule_.weight == StalenessWeight::kExponential;
  }

  void Compensate(PushPlan& plan) const {
    if (rule_.weight != StalenessWeight::kDelayCompensated) return;
    plan.compensation = rule_.lambda;
    plan.compensation_memory = rule_.mean_square;
  }

  void Weigh(WorkerId worker, int64_t staleness, PushPlan plan,
             std::vector<Action>& actions) const {
    if (rule_.cap.has_value() && staleness > *rule_.cap) {
      actions.push_back(
          Report{{DecisionKind::kTooStale, worker, staleness, *rule_.cap}});
      actions.push_back(PlanPush{worker, PushPlan::Discard()});
      return;
    }
    const auto sigma = static_cast<double>(staleness);
    if (rule_.weight == StalenessWeight::kInverse) {
      plan.weight /= sigma + 1;
    } else if (rule_.weight == StalenessWeight::kExponential) {
      plan.weight *= std::exp(-rule_.decay * sigma);
    }
    Compensate(plan);
    actions.push_back(PlanPush{worker, plan});
  }

  const std::unique_ptr<SyncPolicy> inner_;  // It never discards a push.
  const StalenessRule rule_;
  std::map<WorkerId, PushPlan> plans_;  // The plans of the latest releases.
  std::vector<Action> inner_actions_;
};

}  // namespace

std::unique_ptr<SyncPolicy> WithStaleness(std::unique_ptr<SyncPolicy> inner,
                                          const StalenessRule& rule) {
  return std::make_unique<StalenessAware>(std::move(inner), rule);
}

}  // namespace paceline
