#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

void GoOn(WorkerId worker, std::vector<Action>& actions) {
  actions.push_back(Release{worker, PushPlan::Immediate()});
}

// Asynchronous parallel: nobody ever waits, every push is applied as it
// arrives, and neither gap nor staleness is bounded (algorithms.md 5.2). It
// reports nothing, for it decides nothing.
class Asp final : public SyncPolicy {
 public:
  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    for (const WorkerId worker : view.waiting()) GoOn(worker, actions);
  }

  void Apply(const SyncView& /*view*/, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(Overloaded{[&](const Joined& e) { GoOn(e.worker, actions); },
                          [&](const Resumed& e) { GoOn(e.worker, actions); },
                          [&](const PushDone& e) { GoOn(e.worker, actions); },
                          [&](const Abandoned& e) { GoOn(e.worker, actions); },
                          [](const auto&) {}},
               event);
  }

  std::string Describe() const override { return "asp"; }
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const AspOptions&) {
  return std::make_unique<Asp>();
}

}  // namespace paceline
