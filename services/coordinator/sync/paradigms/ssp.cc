#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/gate.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

void ReleaseAndReport(const Decision& why, std::vector<Action>& actions) {
  actions.push_back(Report{why});
  actions.push_back(Release{why.worker, PushPlan::Immediate()});
}

// Stale synchronous parallel (Ho et al., NIPS 2013; the server-side rule of
// algorithms.md 5.3): every push is applied as it arrives, and its worker may
// go on while its gap is at most `s`; otherwise it waits until that is so. At a
// push the gap is therefore at most s + 1. s = 0 paces like BSP, a huge s like
// ASP.
class Ssp final : public SyncPolicy {
 public:
  // REQUIRES: s >= 0.
  explicit Ssp(int64_t s) : gate_(s) {}

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    for (const WorkerId worker : view.waiting()) Decide(view, worker, actions);
  }

  // Releases the event's own worker first, then those who waited, by clock and
  // then by id.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
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

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{SspOptions{gate_.bound()}});
  }
  PolicyView View() const override { return {.threshold = gate_.bound()}; }

 private:
  // Releases the worker or holds it.
  void Decide(const SyncView& view, WorkerId worker,
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

  Gate gate_;
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const SspOptions& options) {
  return std::make_unique<Ssp>(options.s);
}

}  // namespace paceline
