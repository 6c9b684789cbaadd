#include "services/coordinator/sync/paradigms/abs_sgd.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/round_closing.h"

namespace paceline {

AbsSgd::AbsSgd(int pieces) : pieces_(pieces) { CHECK(pieces >= 1); }

void AbsSgd::Adopt(const SyncView& view, std::vector<Action>& actions) {
  next_id_ = ToNumber(view.rounds().next());
  for (const WorkerId worker : view.waiting()) EnterNewest(worker, actions);
}

void AbsSgd::Apply(const SyncView& view, const Event& event,
                   std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) { EnterNewest(e.worker, actions); },
                 [&](const Resumed& e) { EnterNewest(e.worker, actions); },
                 [&](const PushDone& e) {
                   Pushed(e, actions);
                   CloseComplete(view, e.worker, actions);
                 },
                 [&](const Abandoned& e) {
                   Remove(e.worker);
                   EnterNewest(e.worker, actions);
                   CloseComplete(view, e.worker, actions);
                 },
                 [&](const Left& e) {
                   Remove(e.worker);
                   CloseComplete(view, e.worker, actions);
                 },
                 [&](const Idle& e) {
                   Remove(e.worker);
                   CloseComplete(view, e.worker, actions);
                 },
                 [](const auto&) {}},
      event);
}

void AbsSgd::EnterNewest(WorkerId worker, std::vector<Action>& actions) {
  if (rounds_.empty()) {
    OpenFor(worker, actions);
    return;
  }
  Round& newest = rounds_.back();
  newest.computing.insert(worker);
  actions.push_back(Release{worker, PushPlan::Round(newest.id), pieces_});
  if (newest.whole) AskForPart(worker, newest, actions);
}

void AbsSgd::OpenFor(WorkerId worker, std::vector<Action>& actions) {
  rounds_.emplace_back().id = RoundId{next_id_++};
  EnterNewest(worker, actions);
}

void AbsSgd::AskForPart(WorkerId worker, const Round& round,
                        std::vector<Action>& actions) {
  actions.push_back(Report{{DecisionKind::kAskedForPart, worker,
                            static_cast<int64_t>(ToNumber(round.id))}});
  actions.push_back(Refresh{worker});
}

void AbsSgd::Pushed(const PushDone& done, std::vector<Action>& actions) {
  const WorkerId worker = done.worker;
  const auto found = std::find_if(rounds_.begin(), rounds_.end(),
                                  [worker](const Round& round) {
                                    return round.computing.contains(worker);
                                  });
  if (found == rounds_.end()) {
    EnterNewest(worker, actions);  // Its plan is older than the Adopt().
    return;
  }
  const Round& oldest = rounds_.front();
  Round& own = *found;
  own.computing.erase(worker);
  if (done.share >= 1 && !std::exchange(own.whole, true)) {
    for (const WorkerId other : own.computing) AskForPart(other, own, actions);
  }
  if (rounds_.size() == 1) {
    OpenFor(worker, actions);
  } else if (own.id == oldest.id) {
    EnterNewest(worker, actions);
  } else {
    waiting_.insert(worker);
    actions.push_back(Report{{DecisionKind::kWaitForClosing, worker,
                              static_cast<int64_t>(ToNumber(oldest.id)),
                              static_cast<int64_t>(oldest.computing.size())}});
  }
}

void AbsSgd::Remove(WorkerId worker) {
  waiting_.erase(worker);
  for (Round& round : rounds_) round.computing.erase(worker);
}

void AbsSgd::CloseComplete(const SyncView& view, WorkerId cause,
                           std::vector<Action>& actions) {
  while (!rounds_.empty() && rounds_.front().computing.empty()) {
    CloseGathered(view, rounds_.front().id, cause, actions);
    rounds_.pop_front();
    const absl::btree_set<WorkerId> waited = std::exchange(waiting_, {});
    if (waited.empty()) continue;
    rounds_.emplace_back().id = RoundId{next_id_++};
    for (const WorkerId worker : waited) EnterNewest(worker, actions);
  }
}

}  // namespace paceline
