#include "tests/services/coordinator/policy/steady_cluster.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "common/check.h"

namespace paceline {
namespace {

// The event queue and what is measured of it.
class SteadyCluster {
 public:
  SteadyCluster(absl::Span<const double> iteration_times, absl::Duration unit)
      : iteration_times_(iteration_times),
        unit_(unit),
        waits_since_(iteration_times.size(), absl::UnixEpoch()) {
    run_.pushes.resize(iteration_times.size());
    run_.waited.resize(iteration_times.size());
  }

  std::vector<AdoptedWorker> Workers() const {
    std::vector<AdoptedWorker> workers;
    for (uint32_t i = 0; i < iteration_times_.size(); ++i) {
      workers.push_back({WorkerId{i}});
    }
    return workers;
  }

  absl::Time ToTime(double at) const {
    const double ns = at * absl::ToDoubleNanoseconds(unit_);
    return absl::FromUnixNanos(std::llround(ns));
  }

  void Perform(double at, std::vector<Action>& actions) {
    for (const Action& action : actions) {
      const auto* const release = std::get_if<Release>(&action);
      if (release == nullptr) continue;
      const uint32_t worker = ToNumber(release->worker);
      CHECK(waits_since_[worker].has_value());
      run_.waited[worker] += ToTime(at) - *waits_since_[worker];
      waits_since_[worker].reset();
      due_.emplace(at + iteration_times_[worker], release->worker);
    }
    actions.clear();
  }

  // The next push, if it comes before the end.
  std::optional<std::pair<double, WorkerId>> NextPush(double end) {
    constexpr double kRounding = 1e-9;
    if (due_.empty() || due_.begin()->first > end + kRounding) {
      return std::nullopt;
    }
    const auto push = *due_.begin();
    due_.erase(due_.begin());
    const uint32_t worker = ToNumber(push.second);
    ++run_.pushes[worker];
    waits_since_[worker] = ToTime(push.first);
    const int64_t slowest =
        *std::min_element(run_.pushes.begin(), run_.pushes.end());
    run_.max_gap = std::max(run_.max_gap, run_.pushes[worker] - slowest);
    return push;
  }

  SteadyRun Finish(double end) {
    for (uint32_t i = 0; i < waits_since_.size(); ++i) {
      if (!waits_since_[i].has_value()) continue;
      run_.waited[i] += ToTime(end) - *waits_since_[i];
    }
    return std::move(run_);
  }

 private:
  absl::Span<const double> iteration_times_;
  absl::Duration unit_;
  std::vector<std::optional<absl::Time>> waits_since_;
  std::set<std::pair<double, WorkerId>> due_;
  SteadyRun run_;
};

}  // namespace

SteadyRun RunSteady(SyncPolicy& policy,
                    absl::Span<const double> iteration_times, double horizon,
                    absl::Duration unit) {
  SteadyCluster cluster(iteration_times, unit);
  std::vector<Action> actions;
  policy.Adopt({cluster.ToTime(0)}, cluster.Workers(), RoundId{1}, actions);
  cluster.Perform(0, actions);
  while (const auto push = cluster.NextPush(horizon)) {
    policy.Apply({cluster.ToTime(push->first)}, PushDone{push->second},
                 actions);
    cluster.Perform(push->first, actions);
  }
  return cluster.Finish(horizon);
}

}  // namespace paceline
