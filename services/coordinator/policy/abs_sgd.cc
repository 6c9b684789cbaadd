#include "services/coordinator/policy/abs_sgd.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/policy/round_closing.h"

namespace paceline {

AbsSgd::AbsSgd(int pieces) : pieces_(pieces) { CHECK(pieces >= 1); }

void AbsSgd::Adopt(const Moment& /*at*/,
                   absl::Span<const AdoptedWorker> workers, RoundId next_round,
                   std::vector<Action>& actions) {
  next_id_ = ToNumber(next_round);
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == AdoptedWorker::Phase::kWaiting) {
      EnterNewest(adopted.worker, actions);
    } else if (adopted.phase == AdoptedWorker::Phase::kComputing) {
      older_.insert(adopted.worker);
    }
  }
}

void AbsSgd::Apply(const Moment& /*at*/, const Event& event,
                   std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) { EnterNewest(e.worker, actions); },
                 [&](const Resumed& e) { EnterNewest(e.worker, actions); },
                 [&](const PushDone& e) {
                   Pushed(e, actions);
                   CloseComplete(e.worker, actions);
                 },
                 [&](const Abandoned& e) {
                   Remove(e.worker);
                   EnterNewest(e.worker, actions);
                   CloseComplete(e.worker, actions);
                 },
                 [&](const Left& e) {
                   Remove(e.worker);
                   CloseComplete(e.worker, actions);
                 },
                 [&](const Idle& e) {
                   Remove(e.worker);
                   CloseComplete(e.worker, actions);
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
  if (older_.erase(worker) > 0) {
    EnterNewest(worker, actions);
    return;
  }
  CHECK(!rounds_.empty());
  Round& oldest = rounds_.front();
  Round& newest = rounds_.back();
  Round& own = oldest.computing.contains(worker) ? oldest : newest;
  CHECK(own.computing.erase(worker) == 1);
  ++own.gathered;
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
  older_.erase(worker);
  waiting_.erase(worker);
  for (Round& round : rounds_) round.computing.erase(worker);
}

void AbsSgd::CloseComplete(WorkerId cause, std::vector<Action>& actions) {
  while (!rounds_.empty() && rounds_.front().computing.empty()) {
    const Round closed = std::move(rounds_.front());
    rounds_.pop_front();
    CloseGathered(closed.id, closed.gathered, cause, actions);
    const absl::btree_set<WorkerId> waited = std::exchange(waiting_, {});
    if (waited.empty()) continue;
    rounds_.emplace_back().id = RoundId{next_id_++};
    for (const WorkerId worker : waited) EnterNewest(worker, actions);
  }
}

std::string AbsSgd::Describe() const {
  return absl::StrCat("abs:pieces=", pieces_);
}

}  // namespace paceline
