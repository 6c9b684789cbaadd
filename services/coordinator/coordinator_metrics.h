#ifndef PACELINE_SERVICES_COORDINATOR_COORDINATOR_METRICS_H_
#define PACELINE_SERVICES_COORDINATOR_COORDINATOR_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <string>

#include "common/metrics/series.h"
#include "services/coordinator/policy/decision.h"

namespace paceline {

// Every series the coordinator exports, declared here and nowhere else. The
// children are made once, so no label value can come from a request.
struct CoordinatorMetrics {
  explicit CoordinatorMetrics(prometheus::Registry& registry)
      : grants(CounterSeries(registry, "paceline_coordinator_grants_total",
                             "Iterations that workers were allowed to start.")),
        pushes(CounterSeries(registry, "paceline_coordinator_pushes_total",
                             "Pushes counted.")),
        closings(CounterSeries(registry, "paceline_coordinator_closings_total",
                               "Rounds closed into an update.")),
        snapshots(CounterSeries(registry,
                                "paceline_coordinator_snapshots_total",
                                "Snapshots taken for evaluation.")),
        blocks_refused(
            CounterSeries(registry, "paceline_coordinator_blocks_refused_total",
                          "Blocks of gradients refused as non-finite.")),
        version(GaugeSeries(registry, "paceline_coordinator_version",
                            "Updates counted.")),
        samples(GaugeSeries(registry, "paceline_coordinator_samples",
                            "Samples counted.")),
        accuracy_ratio(GaugeSeries(registry,
                                   "paceline_coordinator_accuracy_ratio",
                                   "Test accuracy of the last evaluation.")),
        last_push_timestamp_seconds(GaugeSeries(
            registry, "paceline_coordinator_last_push_timestamp_seconds",
            "Unix time of the last counted push.")),
        gap(HistogramSeries(registry, "paceline_coordinator_gap_iterations",
                            "Gap of a worker when its push was counted.",
                            CountBuckets())),
        staleness(HistogramSeries(
            registry, "paceline_coordinator_staleness_updates",
            "Staleness of a push when it was counted.", CountBuckets())),
        gate_wait_seconds(
            HistogramSeries(registry, "paceline_coordinator_gate_wait_seconds",
                            "Time from a worker's push to its next grant.",
                            DurationBuckets())) {
    auto& lost = prometheus::BuildCounter()
                     .Name("paceline_coordinator_workers_lost_total")
                     .Help("Workers that are no longer members, by reason.")
                     .Register(registry);
    for (const LossReason reason :
         {LossReason::kStreamBroken, LossReason::kLeaseEnded,
          LossReason::kStuck, LossReason::kDeparted}) {
      workers_lost.emplace(reason, &lost.Add({{"reason", Render(reason)}}));
    }
  }

  prometheus::Counter& grants;
  prometheus::Counter& pushes;
  prometheus::Counter& closings;
  prometheus::Counter& snapshots;
  prometheus::Counter& blocks_refused;
  prometheus::Gauge& version;
  prometheus::Gauge& samples;
  prometheus::Gauge& accuracy_ratio;
  prometheus::Gauge& last_push_timestamp_seconds;
  prometheus::Histogram& gap;
  prometheus::Histogram& staleness;
  prometheus::Histogram& gate_wait_seconds;
  std::map<LossReason, prometheus::Counter*> workers_lost;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_COORDINATOR_METRICS_H_
