#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/busy_times.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"
#include "services/coordinator/sync/paradigms/round_closing.h"
#include "services/coordinator/sync/paradigms/zip_line.h"

namespace paceline {
namespace {

// ElasticBSP (Zhao et al., ICDM 2019; algorithms.md 5.9): supersteps with a
// barrier where the workers are predicted to come nearest to each other, so
// that a fast one does several iterations while a slow one does one. Between
// two barriers every push is applied as it arrives; each worker's last one
// before a barrier belongs to a round, which is applied there as one update.
//
// Our reading: everybody starts anew at the barrier, so that a worker's i-th
// iteration is predicted to end after i of its latest busy time (from release
// to push, of a short range in proportion). While one of them is not known yet,
// everybody does one iteration. Who joins or resumes waits for the next
// barrier. A push under a plan older than the Adopt is the worker's first and,
// as in a cold superstep, its last.
class ElasticBsp final : public SyncPolicy {
 public:
  // Looks `r` iterations of every worker ahead.  REQUIRES: r >= 1.
  explicit ElasticBsp(int64_t r) : r_(r) { CHECK(r >= 1); }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    for (const auto& [worker, phase] : view.members()) {
      const std::optional<Pace> pace = view.PaceBefore(worker);
      if (pace.has_value()) busy_.Assume(worker, pace->busy_s());
    }
    barrier_ = view.rounds().next();
    Begin(view, actions);
  }

  // CloseRounds comes before the Releases into the next superstep.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(
        Overloaded{[&](const Joined& e) { Wait(view, e.worker, actions); },
                   [&](const Resumed& e) { Wait(view, e.worker, actions); },
                   [&](const PushDone& e) { Pushed(view, e, actions); },
                   [&](const Abandoned& e) {
                     // The iteration is still to be done.
                     GoOn(view.now(), e.worker, LeftOf(e.worker), actions);
                   },
                   [&](const Left& e) {
                     busy_.Forget(e.worker);
                     Remove(view, e.worker, actions);
                   },
                   [&](const Idle& e) { Remove(view, e.worker, actions); },
                   [](const auto&) {}},
        event);
  }

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{ElasticBspOptions{r_}});
  }

 private:
  void GoOn(absl::Time now, WorkerId worker, int64_t left,
            std::vector<Action>& actions) {
    left_[worker] = left;
    busy_.Released(now, worker);
    actions.push_back(Release{
        worker, left > 1 ? PushPlan::Immediate() : PushPlan::Round(barrier_)});
  }

  void Pushed(const SyncView& view, const PushDone& done,
              std::vector<Action>& actions) {
    busy_.Pushed(view.now(), done.worker, done.share);
    const int64_t left = LeftOf(done.worker) - 1;
    if (left > 0) {
      GoOn(view.now(), done.worker, left, actions);
      return;
    }
    left_.erase(done.worker);
    Wait(view, done.worker, actions);
  }

  void Wait(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions) {
    if (view.computing() == 0) {
      Turn(view, worker, actions);
      return;
    }
    actions.push_back(Report{{DecisionKind::kQuotaUsed, worker,
                              static_cast<int64_t>(view.computing())}});
  }

  // The worker is out of the superstep, which may complete it.
  void Remove(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions) {
    left_.erase(worker);
    if (view.computing() == 0) Turn(view, worker, actions);
  }

  // The barrier is reached. `cause` is the worker of the event.
  void Turn(const SyncView& view, WorkerId cause,
            std::vector<Action>& actions) {
    CloseGathered(view, barrier_, cause, actions);
    barrier_ = RoundId{ToNumber(barrier_) + 1};
    Begin(view, actions);
  }

  // How many iterations the worker does until the barrier, the one under way
  // included.
  int64_t LeftOf(WorkerId worker) const {
    const auto it = left_.find(worker);
    return it == left_.end() ? 1 : it->second;
  }

  // Begins a superstep of those who wait, if there are any.
  void Begin(const SyncView& view, std::vector<Action>& actions) {
    if (view.waiting().empty()) return;
    const std::optional<BarrierPlan> plan = Predict(view);
    size_t i = 0;
    for (const WorkerId worker : view.waiting()) {
      const int64_t iterations = plan.has_value() ? plan->iterations[i++] : 1;
      actions.push_back(Report{
          plan.has_value() ? Decision{DecisionKind::kQuota, worker, iterations,
                                      plan->waiting}
                           : Decision{DecisionKind::kColdQuota, worker}});
      GoOn(view.now(), worker, iterations, actions);
    }
  }

  // Predicts when those who wait come together next, in their order; nothing
  // while a busy time is unknown.
  std::optional<BarrierPlan> Predict(const SyncView& view) const {
    std::vector<std::vector<int64_t>> ends;
    for (const WorkerId worker : view.waiting()) {
      const std::optional<double> busy_s = busy_.Of(worker);
      if (!busy_s.has_value()) return std::nullopt;
      const int64_t busy_ns = std::max<int64_t>(1, std::llround(*busy_s * 1e9));
      std::vector<int64_t>& own = ends.emplace_back();
      own.reserve(static_cast<size_t>(r_));
      for (int64_t i = 1; i <= r_; ++i) own.push_back(i * busy_ns);
    }
    return ZipLine(ends);
  }

  const int64_t r_;
  // Takes the last pushes of this superstep. Every greater one is free.
  RoundId barrier_{0};
  absl::btree_map<WorkerId, int64_t> left_;  // LeftOf(), if it is not 1.
  BusyTimes busy_{/*alpha=*/1};              // The latest one alone counts.
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const ElasticBspOptions& options) {
  return std::make_unique<ElasticBsp>(options.r);
}

}  // namespace paceline
