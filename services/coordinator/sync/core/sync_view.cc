#include "services/coordinator/sync/core/sync_view.h"

#include <optional>
#include <utility>
#include <variant>

#include "common/check.h"
#include "common/overloaded.h"

namespace paceline {

std::optional<Pace> SyncView::PaceBefore(WorkerId worker) const {
  const auto it = paces_.find(worker);
  if (it == paces_.end()) return std::nullopt;
  return it->second;
}

void SyncView::SetProgress(absl::Time now, Version version,
                           int64_t samples_counted, int64_t samples_total) {
  now_ = now;
  version_ = version;
  samples_counted_ = samples_counted;
  samples_total_ = samples_total;
}

void SyncView::Add(WorkerId worker) {
  CHECK(members_.emplace(worker, Phase::kWaiting).second);
  waiting_.insert(worker);
  clocks_.Join(worker);
}

void SyncView::Tell(const Event& event) {
  std::visit(Overloaded{[&](const Joined& e) {
                          Add(e.worker);
                          newcomers_.insert(e.worker);
                        },
                        [&](const Left& e) {
                          const auto it = members_.find(e.worker);
                          CHECK(it != members_.end());
                          LeavePhase(e.worker, it->second);
                          members_.erase(it);
                          clocks_.Leave(e.worker);
                          newcomers_.erase(e.worker);
                          stragglers_.erase(e.worker);
                        },
                        [&](const Idle& e) {
                          Phase& phase = members_.at(e.worker);
                          LeavePhase(e.worker, phase);
                          phase = Phase::kIdle;
                          clocks_.SetIdle(e.worker);
                        },
                        [&](const Resumed& e) {
                          Enter(e.worker);
                          clocks_.SetActive(e.worker);
                          newcomers_.insert(e.worker);
                        },
                        [&](const PushDone& e) {
                          Enter(e.worker);
                          clocks_.Advance(e.worker);
                        },
                        [&](const Abandoned& e) {
                          Enter(e.worker);
                          // It has skipped a round: if it is released into the
                          // next one, it counts from there.
                          newcomers_.insert(e.worker);
                        },
                        [&](const Flagged& e) {
                          if (e.straggler) {
                            stragglers_.insert(e.worker);
                          } else {
                            stragglers_.erase(e.worker);
                          }
                        },
                        [](const GradientReady&) {}, [](const Tick&) {}},
             event);
}

void SyncView::Release(WorkerId worker) {
  Phase& phase = members_.at(worker);
  CHECK(phase == Phase::kWaiting);
  LeavePhase(worker, phase);
  phase = Phase::kComputing;
  ++computing_;
}

void SyncView::TakeBack(WorkerId worker) { Enter(worker); }

void SyncView::Begin(WorkerId worker, const PushPlan& plan) {
  if (plan.kind == PushPlan::Kind::kRound) {
    // Newcomers waited while the others went through a round or more. They
    // count from the round into which they are released, at its level.
    for (const WorkerId newcomer : newcomers_) clocks_.SetIdle(newcomer);
    newcomers_.clear();
  } else {
    newcomers_.erase(worker);
  }
  clocks_.SetActive(worker);
}

void SyncView::BeginTerm(Paces paces) {
  paces_ = std::move(paces);
  rounds_.BeginTerm();
  clocks_.SetEqual();
  newcomers_.clear();
}

void SyncView::Enter(WorkerId worker) {
  Phase& phase = members_.at(worker);
  LeavePhase(worker, phase);
  phase = Phase::kWaiting;
  waiting_.insert(worker);
}

void SyncView::LeavePhase(WorkerId worker, Phase phase) {
  if (phase == Phase::kWaiting) waiting_.erase(worker);
  if (phase == Phase::kComputing) --computing_;
}

}  // namespace paceline
