#include "services/coordinator/policy/elastic_bsp.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"

namespace paceline {

ElasticBsp::ElasticBsp(int64_t r) : r_(r) { CHECK(r >= 1); }

void ElasticBsp::Adopt(const Moment& at,
                       absl::Span<const AdoptedWorker> workers,
                       RoundId /*next_round*/, std::vector<Action>& actions) {
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == AdoptedWorker::Phase::kWaiting) {
      waiting_.insert(adopted.worker);
    } else if (adopted.phase == AdoptedWorker::Phase::kComputing) {
      computing_.emplace(adopted.worker, 1);
    }
  }
  Begin(at.now, actions);
}

void ElasticBsp::Apply(const Moment& at, const Event& event,
                       std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) { Wait(at.now, e.worker, actions); },
                 [&](const Resumed& e) { Wait(at.now, e.worker, actions); },
                 [&](const PushDone& e) { Pushed(at.now, e, actions); },
                 [&](const Abandoned& e) {
                   // The iteration is still to be done.
                   GoOn(at.now, e.worker, computing_.at(e.worker), actions);
                 },
                 [&](const Left& e) {
                   busy_.Forget(e.worker);
                   Remove(at.now, e.worker, actions);
                 },
                 [&](const Idle& e) { Remove(at.now, e.worker, actions); },
                 [](const auto&) {}},
      event);
}

void ElasticBsp::Pushed(absl::Time now, const PushDone& done,
                        std::vector<Action>& actions) {
  busy_.Pushed(now, done.worker, done.share);
  const int64_t left = computing_.at(done.worker);
  if (left > 1) {
    GoOn(now, done.worker, left - 1, actions);
    return;
  }
  computing_.erase(done.worker);
  Wait(now, done.worker, actions);
}

void ElasticBsp::Wait(absl::Time now, WorkerId worker,
                      std::vector<Action>& actions) {
  waiting_.insert(worker);
  if (computing_.empty()) {
    Begin(now, actions);
    return;
  }
  actions.push_back(Report{{DecisionKind::kQuotaUsed, worker,
                            static_cast<int64_t>(computing_.size())}});
}

void ElasticBsp::Remove(absl::Time now, WorkerId worker,
                        std::vector<Action>& actions) {
  waiting_.erase(worker);
  if (computing_.erase(worker) > 0 && computing_.empty()) Begin(now, actions);
}

void ElasticBsp::Begin(absl::Time now, std::vector<Action>& actions) {
  if (waiting_.empty()) return;
  const std::optional<BarrierPlan> plan = Predict();
  size_t i = 0;
  for (const WorkerId worker : std::exchange(waiting_, {})) {
    const int64_t iterations = plan.has_value() ? plan->iterations[i++] : 1;
    actions.push_back(Report{
        plan.has_value()
            ? Decision{DecisionKind::kQuota, worker, iterations, plan->waiting}
            : Decision{DecisionKind::kColdQuota, worker}});
    GoOn(now, worker, iterations, actions);
  }
}

std::optional<BarrierPlan> ElasticBsp::Predict() const {
  std::vector<std::vector<int64_t>> ends;
  for (const WorkerId worker : waiting_) {
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
  computing_[worker] = left;
  busy_.Released(now, worker);
  actions.push_back(Release{worker, PushPlan::Immediate()});
}

std::string ElasticBsp::Describe() const {
  return absl::StrCat("elastic:r=", r_);
}

}  // namespace paceline
