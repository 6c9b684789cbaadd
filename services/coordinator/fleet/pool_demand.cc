#include "services/coordinator/fleet/pool_demand.h"

#include <iterator>
#include <set>

namespace paceline {

std::map<std::string, int> PoolDemand(
    absl::Span<const AssignableWorker> workers,
    absl::Span<const AssignableJob> jobs) {
  std::map<std::string, int> demand;
  for (const AssignableWorker& worker : workers) {
    if (!worker.evaluator) demand[worker.pool];
  }
  std::set<std::string> connected;
  for (const auto& [pool, workers_wanted] : demand) connected.insert(pool);
  for (const AssignableJob& job : jobs) {
    // Who scaled down while a job is saved would have to scale up again.
    if (job.trainers != TrainersWanted::kYes && !job.goes_on) continue;
    std::set<std::string> pools(job.pools.begin(), job.pools.end());
    if (pools.empty()) {
      for (const AssignableWorker& worker : workers) {
        if (!worker.evaluator && Selects(job, worker)) {
          pools.insert(worker.pool);
        }
      }
    }
    for (const std::string& pool : pools) {
      demand[pool] += job.max > 0 ? job.max : job.min;
    }
  }
  // Of too many those stay that have workers.
  for (auto it = demand.end();
       demand.size() > kPoolsMax && it != demand.begin();) {
    --it;
    if (!connected.contains(it->first)) it = demand.erase(it);
  }
  while (demand.size() > kPoolsMax) demand.erase(std::prev(demand.end()));
  return demand;
}

}  // namespace paceline
