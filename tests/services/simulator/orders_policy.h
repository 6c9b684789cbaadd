#ifndef PACELINE_TESTS_SERVICES_SIMULATOR_ORDERS_POLICY_H_
#define PACELINE_TESTS_SERVICES_SIMULATOR_ORDERS_POLICY_H_

#include <string>
#include <variant>
#include <vector>

#include "common/overloaded.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// What the policy of a test shall order.
struct Orders {
  PushPlan plan = PushPlan::Immediate();    // In the grants.
  PushPlan answer = PushPlan::Immediate();  // To those who ask.
  int pieces = 0;
  // Each push of worker 0 is followed by this for worker 1.
  bool refresh = false;
  bool abandon = false;
};

// Lets everybody go on at once, under the orders of a test.
class OrdersPolicy : public SyncPolicy {
 public:
  explicit OrdersPolicy(const Orders& orders) : orders_(orders) {}

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    for (const WorkerId worker : view.waiting()) GoOn(worker, actions);
  }

  void Apply(const SyncView& /*view*/, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(
        Overloaded{[&](const Joined& e) { GoOn(e.worker, actions); },
                   [&](const Resumed& e) { GoOn(e.worker, actions); },
                   [&](const Abandoned& e) { GoOn(e.worker, actions); },
                   [&](const GradientReady& e) {
                     actions.push_back(PlanPush{e.worker, orders_.answer});
                   },
                   [&](const PushDone& e) {
                     if (ToNumber(e.worker) == 0) Order(actions);
                     GoOn(e.worker, actions);
                   },
                   [](const auto&) {}},
        event);
  }

  std::string Describe() const override { return "orders"; }

 private:
  void GoOn(WorkerId worker, std::vector<Action>& actions) const {
    actions.push_back(Release{worker, orders_.plan, orders_.pieces});
  }
  void Order(std::vector<Action>& actions) const {
    if (orders_.refresh) actions.push_back(Refresh{WorkerId{1}});
    if (orders_.abandon) actions.push_back(Abandon{WorkerId{1}});
  }

  const Orders orders_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_SIMULATOR_ORDERS_POLICY_H_
