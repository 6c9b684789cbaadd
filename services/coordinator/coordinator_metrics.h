#ifndef PACELINE_SERVICES_COORDINATOR_COORDINATOR_METRICS_H_
#define PACELINE_SERVICES_COORDINATOR_COORDINATOR_METRICS_H_

#include <prometheus/registry.h>

#include <map>
#include <string>

#include "common/metrics/series.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// Every series the coordinator exports that is of no single job (those are in
// job_metrics.h).
class CoordinatorMetrics {
 public:
  explicit CoordinatorMetrics(prometheus::Registry& registry)
      : servers(GaugeSeries(registry, "paceline_coordinator_servers",
                            "Parameter servers that are connected.")),
        watchers(GaugeSeries(registry, "paceline_coordinator_watchers",
                             "Open watches of jobs.")),
        history_rows_lost(CounterSeries(
            registry, "paceline_coordinator_history_rows_lost_total",
            "Decisions, evaluations and audit records that were dropped "
            "because too many waited for the disk, or could not be written.")),
        quota_refusals(CounterSeries(
            registry, "paceline_coordinator_quota_refusals_total",
            "Jobs and changes of jobs that a namespace's quota has refused.")),
        jobs_failed_family(prometheus::BuildCounter()
                               .Name("paceline_coordinator_jobs_failed_total")
                               .Help("Jobs that have failed, by reason: "
                                     "their pushes were not finite any more "
                                     "(diverged), or other.")
                               .Register(registry)),
        jobs_diverged(jobs_failed_family.Add({{"reason", "diverged"}})),
        jobs_failed(jobs_failed_family.Add({{"reason", "other"}})),
        pool_demand_family_(
            prometheus::BuildGauge()
                .Name("paceline_coordinator_pool_workers_wanted")
                .Help("Workers of a pool that jobs would use: their maxima, or "
                      "minima where they have none.")
                .Register(registry)) {
    auto& jobs_family = prometheus::BuildGauge()
                            .Name("paceline_coordinator_jobs")
                            .Help("Jobs, by state.")
                            .Register(registry);
    for (int i = v1::Job::State_MIN + 1; i <= v1::Job::State_MAX; ++i) {
      const auto state = static_cast<v1::Job::State>(i);
      jobs.emplace(state,
                   &jobs_family.Add({{"state", v1::Job::State_Name(state)}}));
    }
    auto& members_family = prometheus::BuildGauge()
                               .Name("paceline_coordinator_members")
                               .Help("Workers and evaluators, by state.")
                               .Register(registry);
    for (int i = v1::Worker::State_MIN + 1; i <= v1::Worker::State_MAX; ++i) {
      const auto state = static_cast<v1::Worker::State>(i);
      members.emplace(state, &members_family.Add(
                                 {{"state", v1::Worker::State_Name(state)}}));
    }
  }

  // How many workers of each pool jobs would use; the series of others end.
  void SetPoolDemand(const std::map<std::string, int>& wanted) {
    std::erase_if(pool_demand_, [&](const auto& entry) {
      return !wanted.contains(entry.first);
    });
    for (const auto& [pool, workers] : wanted) {
      pool_demand_
          .try_emplace(pool, pool_demand_family_, Labels{{"pool", pool}})
          .first->second->Set(workers);
    }
  }

  prometheus::Gauge& servers;
  prometheus::Gauge& watchers;
  prometheus::Counter& history_rows_lost;
  prometheus::Counter& quota_refusals;
  // Of no single job, so that they are there before one fails: of one that
  // fails within a moment, no scrape sees how it was before.
  prometheus::Family<prometheus::Counter>& jobs_failed_family;
  prometheus::Counter& jobs_diverged;
  prometheus::Counter& jobs_failed;  // For other reasons.
  std::map<v1::Job::State, prometheus::Gauge*> jobs;
  std::map<v1::Worker::State, prometheus::Gauge*> members;

 private:
  using Labels = prometheus::Labels;

  prometheus::Family<prometheus::Gauge>& pool_demand_family_;
  std::map<std::string, OwnedSeries<prometheus::Gauge>> pool_demand_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_COORDINATOR_METRICS_H_
