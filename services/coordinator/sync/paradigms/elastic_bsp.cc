#include "services/coordinator/sync/paradigms/elastic_bsp.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "common/check.h"
#include "common/overloaded.h"

namespace paceline {

ElasticBsp::ElasticBsp(int64_t r) : r_(r) { CHECK(r >= 1); }

void ElasticBsp::Adopt(const SyncView& view, std::vector<Action>& actions) {
  Begin(view, actions);
}

void ElasticBsp::Apply(const SyncView& view, const Event& event,
                       std::vector<Action>& actions) {
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

void ElasticBsp::Pushed(const SyncView& view, const PushDone& done,
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

int64_t ElasticBsp::LeftOf(WorkerId worker) const {
  const auto it = left_.find(worker);
  return it == left_.end() ? 1 : it->second;
}

void ElasticBsp::Wait(const SyncView& view, WorkerId worker,
                      std::vector<Action>& actions) {
  if (view.computing() == 0) {
    Begin(view, actions);
    return;
  }
  actions.push_back(Report{{DecisionKind::kQuotaUsed, worker,
                            static_cast<int64_t>(view.computing())}});
}

void ElasticBsp::Remove(const SyncView& view, WorkerId worker,
                        std::vector<Action>& actions) {
  left_.erase(worker);
  if (view.computing() == 0) Begin(view, actions);
}

void ElasticBsp::Begin(const SyncView& view, std::vector<Action>& actions) {
  if (view.waiting().empty()) return;
  const std::optional<BarrierPlan> plan = Predict(view);
  size_t i = 0;
  for (const WorkerId worker : view.waiting()) {
    const int64_t iterations = plan.has_value() ? plan->iterations[i++] : 1;
    actions.push_back(Report{
        plan.has_value()
            ? Decision{DecisionKind::kQuota, worker, iterations, plan->waiting}
            : Decision{DecisionKind::kColdQuota, worker}});
    GoOn(view.now(), worker, iterations, actions);
  }
}

std::optional<BarrierPlan> ElasticBsp::Predict(const SyncView& view) const {
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

void ElasticBsp::GoOn(absl::Time now, WorkerId worker, int64_t left,
                      std::vector<Action>& actions) {
  left_[worker] = left;
  busy_.Released(now, worker);
  actions.push_back(Release{worker, PushPlan::Immediate()});
}

}  // namespace paceline
