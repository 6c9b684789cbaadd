#include "services/coordinator/policy/asp.h"

#include <variant>

#include "common/overloaded.h"

namespace paceline {
namespace {

void GoOn(WorkerId worker, std::vector<Action>& actions) {
  actions.push_back(Release{worker, PushPlan::Immediate()});
}

}  // namespace

void Asp::Adopt(const Moment& /*at*/, absl::Span<const AdoptedWorker> workers,
                RoundId /*next_round*/, std::vector<Action>& actions) {
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == AdoptedWorker::Phase::kWaiting) {
      GoOn(adopted.worker, actions);
    }
  }
}

void Asp::Apply(const Moment& /*at*/, const Event& event,
                std::vector<Action>& actions) {
  std::visit(Overloaded{[&](const Joined& e) { GoOn(e.worker, actions); },
                        [&](const Resumed& e) { GoOn(e.worker, actions); },
                        [&](const PushDone& e) { GoOn(e.worker, actions); },
                        [&](const Abandoned& e) { GoOn(e.worker, actions); },
                        [](const auto&) {}},
             event);
}

}  // namespace paceline
