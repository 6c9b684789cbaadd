#include "services/parameter_server/server_turn.h"

#include <cstddef>

namespace paceline {

void TakeServerTurn(const Shard& shard, absl::Time now,
                    ServerMetrics& metrics) {
  size_t parked_pulls = 0;
  size_t open_rounds = 0;
  size_t snapshots = 0;
  const auto jobs = shard.Jobs();
  for (const auto& job : jobs) {
    job->ExpirePulls(now);
    const ShardCounters counters = job->Counters();
    parked_pulls += counters.parked_pulls;
    open_rounds += counters.open_rounds;
    snapshots += counters.snapshots;
  }
  metrics.parked_pulls.Set(static_cast<double>(parked_pulls));
  metrics.open_rounds.Set(static_cast<double>(open_rounds));
  metrics.snapshots.Set(static_cast<double>(snapshots));
  metrics.jobs.Set(static_cast<double>(jobs.size()));
  metrics.parameter_bytes.Set(static_cast<double>(shard.state_bytes()));
}

}  // namespace paceline
