#include "services/coordinator/sync/paradigms/cgp/cgp_regrouper.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "services/coordinator/sync/core/round_ledger.h"

namespace paceline {
namespace {

constexpr int kRoundsOff = 3;
constexpr int64_t kPushesEach = 2;
// Of the D of the present groups; groups with less are worth moving for.
constexpr double kBetter = 0.9;
// Of the S that beta asks for. The best groups have hardly more than that, and
// half of the time less by what is measured next.
constexpr double kFastEnough = 0.97;

// REQUIRES: there are values.
double Median(std::vector<double> values) {
  const auto upper = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) return *upper;
  return (*std::max_element(values.begin(), upper) + *upper) / 2;
}

}  // namespace

void CgpRegrouper::Updated(const absl::btree_set<WorkerId>& members,
                           const BusyTimes& busy) {
  ++updates_;
  std::vector<std::pair<WorkerId, double>> known;
  std::vector<double> values;
  for (const WorkerId worker : members) {
    const std::optional<double> busy_s = busy.Of(worker);
    if (!busy_s.has_value()) continue;
    known.emplace_back(worker, *busy_s);
    values.push_back(*busy_s);
  }
  if (known.size() < 2) return;
  const double median = Median(std::move(values));
  for (const auto& [worker, busy_s] : known) {
    int& rounds = off_[worker];
    rounds =
        std::abs(busy_s - median) > options_.drift * median ? rounds + 1 : 0;
    if (rounds >= kRoundsOff) drifted_ = true;
  }
}

bool CgpRegrouper::Due(size_t workers, size_t groups) const {
  if (pushes_ < kPushesEach * static_cast<int64_t>(workers)) return false;
  if (drifted_ && drift_counts_) return true;
  return updates_ / options_.every >= static_cast<int64_t>(groups);
}

std::optional<CgpGrouping> CgpRegrouper::Evaluate(const Groups& groups,
                                                  const BusyTimes& busy) {
  // As if all members of a group were as slow as its slowest.
  std::vector<double> periods;
  std::vector<size_t> sizes;
  for (const std::vector<WorkerId>& group : groups) {
    double period = 0;
    for (const WorkerId worker : group) {
      const std::optional<double> busy_s = busy.Of(worker);
      if (!busy_s.has_value()) return std::nullopt;
      period = std::max(period, *busy_s);
    }
    periods.insert(periods.end(), group.size(), period);
    sizes.push_back(group.size());
  }
  if (sizes.empty()) return std::nullopt;
  return EvaluateGrouping(periods, sizes);
}

bool CgpRegrouper::MayStay(const CgpGrouping& present, const CgpGrouping& best,
                           double alone) const {
  return present.sizes.size() <= RoundLedger::kMostAtWill &&
         present.speed >= kFastEnough * options_.beta * alone &&
         present.missed * kBetter <= best.missed;
}

CgpRegrouper::Division CgpRegrouper::Divide(absl::Span<const WorkerId> workers,
                                            const Groups& present,
                                            const BusyTimes& busy) {
  for_drift_ = drifted_ &&
               updates_ / options_.every < static_cast<int64_t>(present.size());
  pushes_ = updates_ = 0;
  drifted_ = false;
  off_.clear();
  std::vector<std::pair<double, WorkerId>> known;
  std::vector<WorkerId> unknown;
  for (const WorkerId worker : workers) {
    const std::optional<double> busy_s = busy.Of(worker);
    if (busy_s.has_value()) {
      known.emplace_back(*busy_s, worker);
    } else {
      unknown.push_back(worker);
    }
  }
  std::sort(known.begin(), known.end());
  Division division;
  if (!known.empty()) {
    std::vector<double> sorted;
    double alone = 0;
    for (const auto& [busy_s, worker] : known) {
      sorted.push_back(busy_s);
      alone += 1 / busy_s;
    }
    const CgpGrouping grouping =
        GroupByPace(sorted, options_.beta, RoundLedger::kMostAtWill);
    const std::optional<CgpGrouping> now = Evaluate(present, busy);
    if (now.has_value() && MayStay(*now, grouping, alone)) {
      return {present, now->speed / alone, now->missed};
    }
    division.speed_share = grouping.speed / alone;
    division.missed = grouping.missed;
    auto next = known.begin();
    for (const size_t size : grouping.sizes) {
      std::vector<WorkerId>& group = division.groups.emplace_back();
      for (size_t i = 0; i < size; ++i) group.push_back((next++)->second);
    }
  }
  for (const WorkerId worker : unknown) division.groups.push_back({worker});
  return division;
}

}  // namespace paceline
