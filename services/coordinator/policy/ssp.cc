#include "services/coordinator/policy/ssp.h"

#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"

namespace paceline {
namespace {

void ReleaseAndReport(const Decision& why, std::vector<Action>& actions) {
  actions.push_back(Report{why});
  actions.push_back(Release{why.worker, PushPlan::Immediate()});
}

}  // namespace

void Ssp::Adopt(const Moment& /*at*/, absl::Span<const AdoptedWorker> workers,
                RoundId /*next_round*/, std::vector<Action>& actions) {
  for (const AdoptedWorker& adopted : workers) gate_.Join(adopted.worker);
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == AdoptedWorker::Phase::kWaiting) {
      Decide(adopted.worker, actions);
    } else if (adopted.phase == AdoptedWorker::Phase::kIdle) {
      gate_.SetIdle(adopted.worker);
    }
  }
}

void Ssp::Apply(const Moment& /*at*/, const Event& event,
                std::vector<Action>& actions) {
  std::visit(Overloaded{[&](const Joined& e) {
                          gate_.Join(e.worker);
                          Decide(e.worker, actions);
                        },
                        [&](const Resumed& e) {
                          gate_.SetActive(e.worker);
                          Decide(e.worker, actions);
                        },
                        [&](const PushDone& e) {
                          gate_.Advance(e.worker);
                          Decide(e.worker, actions);
                        },
                        [&](const Left& e) { gate_.Leave(e.worker); },
                        [&](const Idle& e) { gate_.SetIdle(e.worker); },
                        [&](const Abandoned& e) { Decide(e.worker, actions); },
                        [](const auto&) {}},
             event);
  while (const std::optional<WorkerId> worker = gate_.TakeCaughtUp()) {
    ReleaseAndReport({DecisionKind::kCaughtUp, *worker,
                      gate_.clocks().Gap(*worker), gate_.bound()},
                     actions);
  }
}

void Ssp::Decide(WorkerId worker, std::vector<Action>& actions) {
  const int64_t gap = gate_.clocks().Gap(worker);
  if (gap <= gate_.bound()) {
    ReleaseAndReport({DecisionKind::kWithinBound, worker, gap, gate_.bound()},
                     actions);
    return;
  }
  gate_.Hold(worker);
  actions.push_back(
      Report{{DecisionKind::kWaitForSlowest, worker, gap, gate_.bound()}});
}

std::string Ssp::Describe() const {
  return absl::StrCat("ssp:s=", gate_.bound());
}

}  // namespace paceline
