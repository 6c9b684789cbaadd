#include "services/coordinator/sync/paradigms/psp.h"

#include <limits>
#include <utility>
#include <variant>

#include "common/check.h"
#include "common/overloaded.h"

namespace paceline {
namespace {

void GoOn(const Decision& why, std::vector<Action>& actions) {
  actions.push_back(Report{why});
  actions.push_back(Release{why.worker, PushPlan::Immediate()});
}

}  // namespace

Psp::Psp(const PspOptions& options)
    : options_(options), sampler_(options.seed) {
  CHECK(options.beta >= 0 && options.s >= 0);
}

void Psp::Adopt(const SyncView& view, std::vector<Action>& actions) {
  for (const auto& [worker, phase] : view.members()) {
    if (phase != SyncView::Phase::kIdle) sampler_.Add(worker);
  }
  for (const WorkerId worker : view.waiting()) Decide(view, worker, actions);
}

void Psp::Apply(const SyncView& view, const Event& event,
                std::vector<Action>& actions) {
  const auto enter = [&](WorkerId worker) {
    sampler_.Add(worker);
    Decide(view, worker, actions);
  };
  std::visit(
      Overloaded{[&](const Joined& e) { enter(e.worker); },
                 [&](const Resumed& e) { enter(e.worker); },
                 [&](const PushDone& e) {
                   Decide(view, e.worker, actions);
                   Reconsider(e.worker, view.clocks().Of(e.worker) + options_.s,
                              actions);
                 },
                 [&](const Left& e) { Remove(e.worker, actions); },
                 [&](const Idle& e) { Remove(e.worker, actions); },
                 // What it was released for is still to be done.
                 [&](const Abandoned& e) {
                   actions.push_back(Release{e.worker, PushPlan::Immediate()});
                 },
                 [](const auto&) {}},
      event);
}

void Psp::Decide(const SyncView& view, WorkerId worker,
                 std::vector<Action>& actions) {
  const Clocks& clocks = view.clocks();
  const int64_t gap = clocks.Gap(worker);
  if (gap <= options_.s) {
    GoOn({DecisionKind::kWithinBound, worker, gap, options_.s}, actions);
    return;
  }
  const WorkerClock clock = clocks.Of(worker);
  Held held;
  held.clock = clock;
  for (const WorkerId other : sampler_.DrawOthers(worker, options_.beta)) {
    ++held.sampled;
    if (clock - clocks.Of(other) > options_.s) held.behind.insert(other);
  }
  const auto behind = static_cast<int64_t>(held.behind.size());
  if (behind == 0) {
    GoOn({DecisionKind::kSampleWithin, worker, 0, options_.s, held.sampled},
         actions);
    return;
  }
  actions.push_back(Report{
      {DecisionKind::kSampleBehind, worker, behind, options_.s, held.sampled}});
  for (const WorkerId other : held.behind) {
    waited_for_[other].emplace(clock, worker);
  }
  held_.emplace(worker, std::move(held));
}

void Psp::Reconsider(WorkerId worker, WorkerClock up_to,
                     std::vector<Action>& actions) {
  const auto it = waited_for_.find(worker);
  if (it == waited_for_.end()) return;
  Waiters& waiters = it->second;
  while (!waiters.empty() && waiters.begin()->first <= up_to) {
    const WorkerId waiter = waiters.begin()->second;
    waiters.erase(waiters.begin());
    const auto held = held_.find(waiter);
    held->second.behind.erase(worker);
    if (!held->second.behind.empty()) continue;
    GoOn({DecisionKind::kSampleCaughtUp, waiter, 0, options_.s,
          held->second.sampled},
         actions);
    held_.erase(held);
  }
  if (waiters.empty()) waited_for_.erase(it);
}

void Psp::Remove(WorkerId worker, std::vector<Action>& actions) {
  StopWaiting(worker);
  sampler_.Remove(worker);
  Reconsider(worker, std::numeric_limits<WorkerClock>::max(), actions);
}

void Psp::StopWaiting(WorkerId worker) {
  const auto held = held_.find(worker);
  if (held == held_.end()) return;
  for (const WorkerId other : held->second.behind) {
    const auto it = waited_for_.find(other);
    it->second.erase({held->second.clock, worker});
    if (it->second.empty()) waited_for_.erase(it);
  }
  held_.erase(held);
}

}  // namespace paceline
