#include "services/coordinator/sync/paradigms/pace_table.h"

#include <limits>

#include "common/check.h"

namespace paceline {

void PaceTable::Add(WorkerId worker, WorkerClock clock) {
  const auto [it, added] = rows_.emplace(worker, Row{.clock = clock});
  CHECK(added);
  by_slowness_.insert(SlownessOf(worker, it->second));
}

void PaceTable::Remove(WorkerId worker) {
  const auto it = rows_.find(worker);
  if (it == rows_.end()) return;
  by_slowness_.erase(SlownessOf(worker, it->second));
  rows_.erase(it);
}

void PaceTable::Released(absl::Time now, WorkerId worker) {
  rows_.at(worker).released_ns = absl::ToUnixNanos(now);
}

void PaceTable::Pushed(absl::Time now, WorkerId worker, WorkerClock clock) {
  Row& row = rows_.at(worker);
  by_slowness_.erase(SlownessOf(worker, row));
  const int64_t now_ns = absl::ToUnixNanos(now);
  const std::optional<int64_t>& since =
      kind_ == IntervalKind::kPush ? row.last_push_ns : row.released_ns;
  if (since.has_value()) row.interval_ns = now_ns - *since;
  row.last_push_ns = now_ns;
  row.clock = clock;
  by_slowness_.insert(SlownessOf(worker, row));
}

std::optional<PushTimes> PaceTable::Of(WorkerId worker) const {
  const Row& row = rows_.at(worker);
  if (!row.interval_ns.has_value()) return std::nullopt;
  return PushTimes{.last_ns = *row.last_push_ns,
                   .interval_ns = *row.interval_ns};
}

PaceTable::Slowness PaceTable::SlownessOf(WorkerId worker, const Row& row) {
  constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  return {row.clock, -row.interval_ns.value_or(kUnknown), worker};
}

}  // namespace paceline
