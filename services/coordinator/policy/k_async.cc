#include "services/coordinator/policy/k_async.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/policy/round_closing.h"

namespace paceline {
namespace {

constexpr RoundId kNoRound{0};

}  // namespace

KAsync::KAsync(KAsyncMode mode, int64_t k) : mode_(mode), k_(k) {
  CHECK(k >= 1);
}

void KAsync::Adopt(const Moment& /*at*/,
                   absl::Span<const AdoptedWorker> workers, RoundId next_round,
                   std::vector<Action>& actions) {
  next_id_ = ToNumber(next_round);
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == AdoptedWorker::Phase::kWaiting) {
      GoOn(adopted.worker, actions);
    } else if (adopted.phase == AdoptedWorker::Phase::kComputing) {
      members_.emplace(adopted.worker, kNoRound);
    }
  }
}

void KAsync::Apply(const Moment& /*at*/, const Event& event,
                   std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) { GoOn(e.worker, actions); },
                 [&](const Resumed& e) { GoOn(e.worker, actions); },
                 [&](const GradientReady& e) { Plan(e, actions); },
                 [&](const PushDone& e) { End(e.worker, e.taken, actions); },
                 [&](const Abandoned& e) { End(e.worker, false, actions); },
                 [&](const Left& e) { Remove(e.worker, actions); },
                 [&](const Idle& e) { Remove(e.worker, actions); },
                 [](const auto&) {}},
      event);
}

void KAsync::GoOn(WorkerId worker, std::vector<Action>& actions) {
  members_[worker] = kNoRound;
  actions.push_back(Release{worker, PushPlan::Ask()});
}

KAsync::Rounds::iterator KAsync::Filling() {
  if (!rounds_.empty()) {
    const auto newest = std::prev(rounds_.end());
    const bool full = newest->second.planned >= newest->second.size;
    if (!full || rounds_.size() >= kMaxRounds) return newest;
  }
  int64_t size = k_;
  if (mode_ == KAsyncMode::kWorkers) {
    size = std::min(size, static_cast<int64_t>(members_.size()));
  }
  const auto filling = rounds_.try_emplace(RoundId{next_id_++}).first;
  filling->second.size = size;
  return filling;
}

void KAsync::Plan(const GradientReady& ready, std::vector<Action>& actions) {
  const auto filling = Filling();
  auto& [id, round] = *filling;
  RoundId& of_worker = members_.at(ready.worker);
  CHECK(of_worker == kNoRound);
  of_worker = id;
  ++round.planned;
  ++round.pushing;
  actions.push_back(Report{{DecisionKind::kGradientTaken, ready.worker,
                            round.planned, round.size, ready.staleness}});
  actions.push_back(PlanPush{ready.worker, PushPlan::Round(id)});
}

KAsync::Rounds::iterator KAsync::TakePlan(WorkerId worker) {
  const auto round = rounds_.find(members_.at(worker));
  if (round == rounds_.end()) return round;
  if (round->second.waiting.erase(worker) == 0) --round->second.pushing;
  return round;
}

void KAsync::End(WorkerId worker, bool pushed, std::vector<Action>& actions) {
  const auto round = TakePlan(worker);
  if (round == rounds_.end()) {
    GoOn(worker, actions);  // A plan of an earlier policy, or none.
    return;
  }
  if (pushed) ++round->second.gathered;
  const bool waits = pushed && mode_ == KAsyncMode::kWorkers;
  if (waits) {
    round->second.waiting.insert(worker);
    ReportWait(worker, round, actions);
  }
  CloseIfComplete(round, worker, actions);
  // On the new weights, if it was the last one.
  if (!waits) GoOn(worker, actions);
}

void KAsync::Remove(WorkerId worker, std::vector<Action>& actions) {
  if (!members_.contains(worker)) return;
  const auto round = TakePlan(worker);
  const RoundId id = round == rounds_.end() ? kNoRound : round->first;
  members_.erase(worker);
  Shrink();
  if (id != kNoRound) CloseIfComplete(rounds_.find(id), worker, actions);
  // The newest may have shrunk.
  if (!rounds_.empty() && std::prev(rounds_.end())->first != id) {
    CloseIfComplete(std::prev(rounds_.end()), worker, actions);
  }
}

void KAsync::Shrink() {
  if (rounds_.empty()) return;
  Round& newest = std::prev(rounds_.end())->second;
  if (newest.planned >= newest.size) return;
  auto able = static_cast<int64_t>(members_.size());
  if (mode_ == KAsyncMode::kWorkers) {
    // Those in it wait until it is closed.
    able -= newest.pushing + static_cast<int64_t>(newest.waiting.size());
    newest.size = std::min(newest.size, newest.planned + able);
  } else if (able == 0) {
    newest.size = newest.planned;
  }
}

void KAsync::CloseIfComplete(Rounds::iterator it, WorkerId cause,
                             std::vector<Action>& actions) {
  const Round& round = it->second;
  if (round.planned < round.size || round.pushing > 0) return;
  CloseGathered(it->first, round.gathered, cause, actions);
  const absl::btree_set<WorkerId> waited = std::move(it->second.waiting);
  rounds_.erase(it);
  for (const WorkerId worker : waited) GoOn(worker, actions);
}

void KAsync::ReportWait(WorkerId worker, Rounds::const_iterator it,
                        std::vector<Action>& actions) const {
  const Round& round = it->second;
  const int64_t awaited =
      std::max<int64_t>(0, round.size - round.planned) + round.pushing;
  if (awaited == 0) return;
  actions.push_back(
      Report{{DecisionKind::kWaitForClosing, worker,
              static_cast<int64_t>(ToNumber(it->first)), awaited}});
}

std::string KAsync::Describe() const {
  return absl::StrCat(mode_ == KAsyncMode::kWorkers ? "kasync" : "kbatchasync",
                      ":k=", k_);
}

}  // namespace paceline
