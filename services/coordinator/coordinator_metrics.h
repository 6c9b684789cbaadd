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
struct CoordinatorMetrics {
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
            "Jobs and changes of jobs that a namespace's quota has refused.")) {
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

  prometheus::Gauge& servers;
  prometheus::Gauge& watchers;
  prometheus::Counter& history_rows_lost;
  prometheus::Counter& quota_refusals;
  std::map<v1::Job::State, prometheus::Gauge*> jobs;
  std::map<v1::Worker::State, prometheus::Gauge*> members;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_COORDINATOR_METRICS_H_
