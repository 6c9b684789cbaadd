#include "services/coordinator/policy/k_sync.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/policy/round_closing.h"

namespace paceline {

KSync::KSync(KSyncMode mode, int64_t number) : mode_(mode), number_(number) {
  CHECK(number >= (mode == KSyncMode::kBackup ? 0 : 1));
}

void KSync::Adopt(const Moment& /*at*/, absl::Span<const AdoptedWorker> workers,
                  RoundId next_round, std::vector<Action>& actions) {
  next_id_ = ToNumber(next_round);
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == AdoptedWorker::Phase::kWaiting) {
      waiting_.insert(adopted.worker);
    } else if (adopted.phase == AdoptedWorker::Phase::kComputing) {
      late_.insert(adopted.worker);
    }
  }
  OpenNext(actions);
}

void KSync::Apply(const Moment& /*at*/, const Event& event,
                  std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) { GoOn(e.worker, actions); },
                 [&](const Resumed& e) { GoOn(e.worker, actions); },
                 [&](const GradientReady& e) { Plan(e, actions); },
                 [&](const PushDone& e) { End(e.worker, true, actions); },
                 [&](const Abandoned& e) { End(e.worker, false, actions); },
                 [&](const Left& e) { Remove(e.worker, actions); },
                 [&](const Idle& e) { Remove(e.worker, actions); },
                 [](const auto&) {}},
      event);
}

void KSync::Plan(const GradientReady& ready, std::vector<Action>& actions) {
  const WorkerId worker = ready.worker;
  if (candidates_.erase(worker) == 0) {
    CHECK(late_.contains(worker));
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

void KSync::End(WorkerId worker, bool pushed, std::vector<Action>& actions) {
  if (pushing_.erase(worker) == 0) {
    // What no round takes, or it ended before its gradient was ready.
    CHECK(candidates_.erase(worker) + late_.erase(worker) == 1);
    GoOn(worker, actions);
    return;
  }
  if (pushed) ++gathered_;
  if (pushed && mode_ != KSyncMode::kBatches) {
    Wait(worker, actions);  // Once a round.
  } else {
    GoOn(worker, actions);
  }
}

void KSync::Remove(WorkerId worker, std::vector<Action>& actions) {
  waiting_.erase(worker);
  candidates_.erase(worker);
  late_.erase(worker);
  pushing_.erase(worker);
  if (!Full()) {
    Shrink();
    if (Full()) DropOthers(actions);
  }
  TurnIfComplete(worker, actions);
}

void KSync::GoOn(WorkerId worker, std::vector<Action>& actions) {
  if (Full()) {
    Wait(worker, actions);
    return;
  }
  candidates_.insert(worker);
  actions.push_back(Release{worker, PushPlan::Ask()});
}

void KSync::Wait(WorkerId worker, std::vector<Action>& actions) {
  waiting_.insert(worker);
  if (Full() && pushing_.empty()) {
    TurnIfComplete(worker, actions);
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

void KSync::Shrink() {
  size_t able = candidates_.size() + late_.size();
  if (mode_ == KSyncMode::kBatches) able += pushing_.size();
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
    late_.insert(worker);
  }
  candidates_.clear();
}

void KSync::TurnIfComplete(WorkerId cause, std::vector<Action>& actions) {
  if (!Full() || !pushing_.empty()) return;
  CloseGathered(open_, gathered_, cause, actions);
  gathered_ = planned_ = size_ = 0;
  OpenNext(actions);
}

void KSync::OpenNext(std::vector<Action>& actions) {
  if (waiting_.empty()) return;
  open_ = RoundId{next_id_++};
  size_ = SizeFor(waiting_.size() + late_.size());
  candidates_ = std::exchange(waiting_, {});
  for (const WorkerId worker : candidates_) {
    actions.push_back(Release{worker, PushPlan::Ask()});
  }
}

std::string KSync::Describe() const {
  switch (mode_) {
    case KSyncMode::kWorkers:
      return absl::StrCat("ksync:k=", number_);
    case KSyncMode::kBatches:
      return absl::StrCat("kbatchsync:k=", number_);
    case KSyncMode::kBackup:
      return absl::StrCat("backup:b=", number_);
  }
  return "";
}

}  // namespace paceline
