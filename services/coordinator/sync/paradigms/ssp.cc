#include "services/coordinator/sync/paradigms/ssp.h"

#include <optional>
#include <variant>

#include "common/overloaded.h"

namespace paceline {
namespace {

void ReleaseAndReport(const Decision& why, std::vector<Action>& actions) {
  actions.push_back(Report{why});
  actions.push_back(Release{why.worker, PushPlan::Immediate()});
}

}  // namespace

void Ssp::Adopt(const SyncView& view, std::vector<Action>& actions) {
  for (const WorkerId worker : view.waiting()) Decide(view, worker, actions);
}

void Ssp::Apply(const SyncView& view, const Event& event,
                std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) { Decide(view, e.worker, actions); },
                 [&](const Resumed& e) { Decide(view, e.worker, actions); },
                 [&](const PushDone& e) { Decide(view, e.worker, actions); },
                 [&](const Abandoned& e) { Decide(view, e.worker, actions); },
                 [](const auto&) {}},
      event);
  while (const std::optional<WorkerId> worker = gate_.TakeCaughtUp(view)) {
    ReleaseAndReport({DecisionKind::kCaughtUp, *worker,
                      view.clocks().Gap(*worker), gate_.bound()},
                     actions);
  }
}

void Ssp::Decide(const SyncView& view, WorkerId worker,
                 std::vector<Action>& actions) {
  const int64_t gap = view.clocks().Gap(worker);
  if (gap <= gate_.bound()) {
    ReleaseAndReport({DecisionKind::kWithinBound, worker, gap, gate_.bound()},
                     actions);
    return;
  }
  gate_.Hold(view, worker);
  actions.push_back(
      Report{{DecisionKind::kWaitForSlowest, worker, gap, gate_.bound()}});
}

}  // namespace paceline
