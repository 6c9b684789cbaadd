#include "services/coordinator/policy/bsp.h"

#include <utility>
#include <variant>

#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/policy/round_closing.h"

namespace paceline {

void Bsp::Adopt(const Moment& /*at*/, absl::Span<const AdoptedWorker> workers,
                RoundId next_round, std::vector<Action>& actions) {
  next_id_ = ToNumber(next_round);
  for (const AdoptedWorker& adopted : workers) {
    switch (adopted.phase) {
      case AdoptedWorker::Phase::kWaiting:
        waiting_.insert(adopted.worker);
        break;
      case AdoptedWorker::Phase::kComputing:
        awaited_.emplace(adopted.worker, false);
        break;
      case AdoptedWorker::Phase::kIdle:
        break;
    }
  }
  OpenNext(actions);
}

void Bsp::Apply(const Moment& /*at*/, const Event& event,
                std::vector<Action>& actions) {
  std::visit(Overloaded{[&](const Joined& e) { Wait(e.worker, actions); },
                        [&](const Resumed& e) { Wait(e.worker, actions); },
                        [&](const PushDone& e) {
                          const auto it = awaited_.find(e.worker);
                          CHECK(it != awaited_.end());
                          if (it->second) ++gathered_;
                          awaited_.erase(it);
                          Wait(e.worker, actions);
                        },
                        [&](const Left& e) { Remove(e.worker, actions); },
                        [&](const Idle& e) { Remove(e.worker, actions); },
                        [&](const Abandoned& e) {
                          awaited_.erase(e.worker);
                          Wait(e.worker, actions);
                        },
                        [](const auto&) {}},
             event);
}

void Bsp::Wait(WorkerId worker, std::vector<Action>& actions) {
  waiting_.insert(worker);
  if (awaited_.empty()) {
    Turn(worker, actions);
    return;
  }
  actions.push_back(Report{{DecisionKind::kWaitForRound, worker,
                            static_cast<int64_t>(next_id_),
                            static_cast<int64_t>(awaited_.size())}});
}

void Bsp::Remove(WorkerId worker, std::vector<Action>& actions) {
  waiting_.erase(worker);
  if (awaited_.erase(worker) > 0 && awaited_.empty()) Turn(worker, actions);
}

void Bsp::Turn(WorkerId cause, std::vector<Action>& actions) {
  CloseGathered(open_, std::exchange(gathered_, 0), cause, actions);
  OpenNext(actions);
}

void Bsp::OpenNext(std::vector<Action>& actions) {
  if (waiting_.empty()) return;
  open_ = RoundId{next_id_++};
  for (const WorkerId worker : waiting_) {
    awaited_.emplace_hint(awaited_.end(), worker, true);
    actions.push_back(Release{worker, PushPlan::Round(open_)});
  }
  waiting_.clear();
}

}  // namespace paceline
