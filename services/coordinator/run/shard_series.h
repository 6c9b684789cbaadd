#ifndef PACELINE_SERVICES_COORDINATOR_RUN_SHARD_SERIES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_SHARD_SERIES_H_

#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/run/course/shard_map.h"

namespace paceline {

// Counts, from look to look at the map of shards, for how long shards have
// lacked their backup, and how many were taken over or rebuilt.
// Thread-compatible.
class ShardSeries {
 public:
  explicit ShardSeries(absl::Time now) : counted_(now) {}

  void Count(absl::Time now, const ShardMap& shards, JobMetrics& metrics) {
    const auto without = static_cast<double>(shards.without_backup());
    metrics.shards_without_backup->Set(without);
    const absl::Duration since = now - std::exchange(counted_, now);
    metrics.degraded_seconds->Increment(without * absl::ToDoubleSeconds(since));
    const uint64_t told = std::exchange(failovers_, shards.failovers());
    metrics.failovers->Increment(static_cast<double>(failovers_ - told));
    const uint64_t known = std::exchange(rebuilt_, shards.rebuilt());
    metrics.shards_rebuilt->Increment(static_cast<double>(rebuilt_ - known));
  }

 private:
  absl::Time counted_;
  uint64_t failovers_ = 0;
  uint64_t rebuilt_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_SHARD_SERIES_H_
