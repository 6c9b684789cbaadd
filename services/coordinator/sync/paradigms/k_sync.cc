#include "services/coordinator/sync/paradigms/k_sync.h"

#include <algorithm>
#include <variant>

#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/round_closing.h"

namespace paceline {

KSync::KSync(KSyncMode mode, int64_t number) : mode_(mode), number_(number) {
  CHECK(number >= (mode == KSyncMode::kBackup ? 0 : 1));
}

void KSync::Adopt(const SyncView& view, std::vector<Action>& actions) {
  next_id_ = ToNumber(view.rounds().next());
  OpenNext(view, actions);
}

void KSync::Apply(const SyncView& view, const Event& event,
                  std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) { GoOn(view, e.worker, actions); },
                 [&](const Resumed& e) { GoOn(view, e.worker, actions); },
                 [&](const GradientReady& e) { Plan(e, actions); },
                 [&](const PushDone& e) { End(view, e, actions); },
                 [&](const Abandoned& e) {
                   candidates_.erase(e.worker);
                   GoOn(view, e.worker, actions);
                 },
                 [&](const Left& e) { Remove(view, e.worker, actions); },
                 [&](const Idle& e) { Remove(view, e.worker, actions); },
                 [](const auto&) {}},
      event);
}

void KSync::Plan(const GradientReady& ready, std::vector<Action>& actions) {
  const WorkerId worker = ready.worker;
  if (candidates_.erase(worker) == 0) {
    actions.push_back(Report{{DecisionKind::kTooLate, worker}});
    actions.push_back(PlanPush{worker, PushPlan::Discard()});
    return;
  }
  pushing_.insert(worker);
  ++planned_;
  actions.push_back(Report{{DecisionKind::kGradientTaken, worker, planned_,
                            size_, ready.staleness}});
  actions.push_back(PlanPush{worker, PushPlan::Round(open_)});
  if (Full()) DropOthers(actions);
}

void KSync::End(const SyncView& view, const PushDone& done,
                std::vector<Action>& actions) {
  // No round takes its push, or it ended before its gradient was ready.
  const bool planned = pushing_.erase(done.worker) > 0;
  candidates_.erase(done.worker);
  if (planned && done.taken && mode_ != KSyncMode::kBatches) {
    Wait(view, done.worker, actions);  // Once a round.
    return;
  }
  if (planned && !done.taken) ReturnSlot();
  GoOn(view, done.worker, actions);
}

void KSync::Remove(const SyncView& view, WorkerId worker,
                   std::vector<Action>& actions) {
  candidates_.erase(worker);
  if (pushing_.erase(worker) > 0) ReturnSlot();
  if (!Full()) {
    Shrink(view);
    if (Full()) DropOthers(actions);
  }
  TurnIfComplete(view, worker, actions);
}

void KSync::ReturnSlot() {
  // A full round has told the others to drop their iterations already: it does
  // with the gradients that it has.
  if (!Full()) --planned_;
}

void KSync::GoOn(const SyncView& view, WorkerId worker,
                 std::vector<Action>& actions) {
  if (Full()) {
    Wait(view, worker, actions);
    return;
  }
  candidates_.insert(worker);
  actions.push_back(Release{worker, PushPlan::Ask()});
}

void KSync::Wait(const SyncView& view, WorkerId worker,
                 std::vector<Action>& actions) {
  if (Full() && pushing_.empty()) {
    TurnIfComplete(view, worker, actions);
    return;
  }
  const int64_t awaited =
      size_ - planned_ + static_cast<int64_t>(pushing_.size());
  actions.push_back(Report{{DecisionKind::kWaitForRound, worker,
                            static_cast<int64_t>(next_id_), awaited}});
}

int64_t KSync::SizeFor(size_t contributors) const {
  const auto all = static_cast<int64_t>(contributors);
  switch (mode_) {
    case KSyncMode::kWorkers:
      return std::min(number_, all);
    case KSyncMode::kBatches:
      return number_;
    case KSyncMode::kBackup:
      return std::max<int64_t>(1, all - number_);
  }
  return all;
}

void KSync::Shrink(const SyncView& view) {
  size_t able = view.computing();
  if (mode_ != KSyncMode::kBatches) able -= pushing_.size();
  size_ = able == 0
              ? planned_
              : std::min(size_, SizeFor(able + static_cast<size_t>(planned_)));
}

void KSync::DropOthers(std::vector<Action>& actions) {
  for (const WorkerId worker : candidates_) {
    actions.push_back(
        Report{{DecisionKind::kSuperseded, worker,
                static_cast<int64_t>(ToNumber(open_)), planned_}});
    actions.push_back(Abandon{worker});
  }
  candidates_.clear();
}

void KSync::TurnIfComplete(const SyncView& view, WorkerId cause,
                           std::vector<Action>& actions) {
  if (!Full() || !pushing_.empty()) return;
  CloseGathered(view, open_, cause, actions);
  planned_ = size_ = 0;
  OpenNext(view, actions);
}

void KSync::OpenNext(const SyncView& view, std::vector<Action>& actions) {
  if (view.waiting().empty()) return;
  open_ = RoundId{next_id_++};
  size_ = SizeFor(view.waiting().size() + view.computing());
  candidates_ = view.waiting();
  for (const WorkerId worker : candidates_) {
    actions.push_back(Release{worker, PushPlan::Ask()});
  }
}

}  // namespace paceline
