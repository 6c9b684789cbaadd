#include "services/coordinator/sync/paradigms/bsp.h"

#include <variant>

#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/round_closing.h"

namespace paceline {

void Bsp::Adopt(const SyncView& view, std::vector<Action>& actions) {
  next_ = view.rounds().next();
  open_ = RoundId{0};
  OpenNext(view, actions);
}

void Bsp::Apply(const SyncView& view, const Event& event,
                std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) { Wait(view, e.worker, actions); },
                 [&](const Resumed& e) { Wait(view, e.worker, actions); },
                 [&](const PushDone& e) { Wait(view, e.worker, actions); },
                 [&](const Abandoned& e) { Wait(view, e.worker, actions); },
                 [&](const Left& e) { Turn(view, e.worker, actions); },
                 [&](const Idle& e) { Turn(view, e.worker, actions); },
                 [](const auto&) {}},
      event);
}

void Bsp::Wait(const SyncView& view, WorkerId worker,
               std::vector<Action>& actions) {
  if (view.computing() == 0) {
    Turn(view, worker, actions);
    return;
  }
  actions.push_back(Report{{DecisionKind::kWaitForRound, worker,
                            static_cast<int64_t>(ToNumber(next_)),
                            static_cast<int64_t>(view.computing())}});
}

void Bsp::Turn(const SyncView& view, WorkerId cause,
               std::vector<Action>& actions) {
  if (view.computing() > 0) return;
  CloseGathered(view, open_, cause, actions);
  OpenNext(view, actions);
}

void Bsp::OpenNext(const SyncView& view, std::vector<Action>& actions) {
  if (view.waiting().empty()) return;
  open_ = next_;
  next_ = RoundId{ToNumber(open_) + 1};
  for (const WorkerId worker : view.waiting()) {
    actions.push_back(Release{worker, PushPlan::Round(open_)});
  }
}

}  // namespace paceline
