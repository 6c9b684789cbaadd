#include "services/coordinator/sync/paradigms/asp.h"

#include <variant>

#include "common/overloaded.h"

namespace paceline {
namespace {

void GoOn(WorkerId worker, std::vector<Action>& actions) {
  actions.push_back(Release{worker, PushPlan::Immediate()});
}

}  // namespace

void Asp::Adopt(const SyncView& view, std::vector<Action>& actions) {
  for (const WorkerId worker : view.waiting()) GoOn(worker, actions);
}

void Asp::Apply(const SyncView& /*view*/, const Event& event,
                std::vector<Action>& actions) {
  std::visit(Overloaded{[&](const Joined& e) { GoOn(e.worker, actions); },
                        [&](const Resumed& e) { GoOn(e.worker, actions); },
                        [&](const PushDone& e) { GoOn(e.worker, actions); },
                        [&](const Abandoned& e) { GoOn(e.worker, actions); },
                        [](const auto&) {}},
             event);
}

}  // namespace paceline
