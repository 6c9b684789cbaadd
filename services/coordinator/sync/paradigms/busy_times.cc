#include "services/coordinator/sync/paradigms/busy_times.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {
namespace {

constexpr double kLeastShare = 0.5;

}  // namespace

BusyTimes::BusyTimes(double alpha) : alpha_(alpha) {
  CHECK(alpha > 0 && alpha <= 1);
}

void BusyTimes::Released(absl::Time now, WorkerId worker) {
  rows_[worker].released = now;
}

void BusyTimes::Pushed(absl::Time now, WorkerId worker, double share) {
  if (share < kLeastShare) {
    Dropped(worker);
    return;
  }
  const auto it = rows_.find(worker);
  if (it == rows_.end() || !it->second.released.has_value()) return;
  Row& row = it->second;
  // A speed is its inverse, so that it must not be 0.
  const double busy_s =
      std::max(1e-9, absl::ToDoubleSeconds(now - *row.released) / share);
  row.released.reset();
  const double before = row.busy_s.value_or(busy_s);
  row.busy_s = before + alpha_ * (busy_s - before);
}

void BusyTimes::Dropped(WorkerId worker) {
  const auto it = rows_.find(worker);
  if (it != rows_.end()) it->second.released.reset();
}

std::optional<double> BusyTimes::Of(WorkerId worker) const {
  const auto it = rows_.find(worker);
  return it == rows_.end() ? std::nullopt : it->second.busy_s;
}

}  // namespace paceline
