#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"
#include "services/coordinator/sync/paradigms/worker_sampler.h"

namespace paceline {
namespace {

void GoOn(const Decision& why, std::vector<Action>& actions) {
  actions.push_back(Report{why});
  actions.push_back(Release{why.worker, PushPlan::Immediate()});
}

// Probabilistic synchronous parallel (Wang et al., arXiv 1709.07772;
// algorithms.md 5.20): every push is applied as it arrives; its worker samples
// `beta` of the others without replacement and waits while any of them is more
// than `s` behind. beta = 0 is ASP, beta >= workers - 1 is SSP; s = 0 is called
// pBSP, more pSSP.
//
// Our reading: the sample is kept while the worker waits, and a sampled worker
// that leaves or becomes idle is waited for no longer. Nothing is drawn when
// even the slowest worker is within s: every sample would let the worker go.
class Psp final : public SyncPolicy {
 public:
  // REQUIRES: beta >= 0; s >= 0.
  explicit Psp(const PspOptions& options)
      : options_(options), sampler_(options.seed) {
    CHECK(options.beta >= 0 && options.s >= 0);
  }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    for (const auto& [worker, phase] : view.members()) {
      if (phase != SyncView::Phase::kIdle) sampler_.Add(worker);
    }
    for (const WorkerId worker : view.waiting()) Decide(view, worker, actions);
  }

  // Releases the event's own worker first, then those who waited for it, by
  // clock and then by id.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    const auto enter = [&](WorkerId worker) {
      sampler_.Add(worker);
      Decide(view, worker, actions);
    };
    std::visit(
        Overloaded{
            [&](const Joined& e) { enter(e.worker); },
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

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }

 private:
  using Waiters = absl::btree_set<std::pair<WorkerClock, WorkerId>>;
  struct Held {
    WorkerClock clock = 0;
    int64_t sampled = 0;
    // The workers of the sample that are more than s behind; not empty.
    absl::btree_set<WorkerId> behind;
  };

  // Releases the worker or holds it.
  void Decide(const SyncView& view, WorkerId worker,
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
    actions.push_back(Report{{DecisionKind::kSampleBehind, worker, behind,
                              options_.s, held.sampled}});
    for (const WorkerId other : held.behind) {
      waited_for_[other].emplace(clock, worker);
    }
    held_.emplace(worker, std::move(held));
  }

  // Lets those go who have waited for `worker` alone and whose clocks are at
  // most `up_to`.
  void Reconsider(WorkerId worker, WorkerClock up_to,
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

  // Takes the worker out of every sample and wait.
  void Remove(WorkerId worker, std::vector<Action>& actions) {
    StopWaiting(worker);
    sampler_.Remove(worker);
    Reconsider(worker, std::numeric_limits<WorkerClock>::max(), actions);
  }

  void StopWaiting(WorkerId worker) {
    const auto held = held_.find(worker);
    if (held == held_.end()) return;
    for (const WorkerId other : held->second.behind) {
      const auto it = waited_for_.find(other);
      it->second.erase({held->second.clock, worker});
      if (it->second.empty()) waited_for_.erase(it);
    }
    held_.erase(held);
  }

  const PspOptions options_;
  WorkerSampler sampler_;  // Draws from the workers that are not idle.
  absl::btree_map<WorkerId, Held> held_;
  absl::btree_map<WorkerId, Waiters> waited_for_;  // The inverse of `behind`.
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const PspOptions& options) {
  return std::make_unique<Psp>(options);
}

}  // namespace paceline
