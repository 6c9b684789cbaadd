#ifndef PACELINE_SERVICES_COORDINATOR_JOB_METRICS_H_
#define PACELINE_SERVICES_COORDINATOR_JOB_METRICS_H_

#include <prometheus/registry.h>

#include <map>
#include <string>

#include "common/metrics/series.h"
#include "services/coordinator/policy/decision.h"

namespace paceline {

// Every series the coordinator exports of one job, declared here and nowhere
// else, told apart by the label `job`; they end with this. The children are
// made once, so no label value can come from a member's message.
struct JobMetrics {
  using Counter = OwnedSeries<prometheus::Counter>;
  using Gauge = OwnedSeries<prometheus::Gauge>;
  using Histogram = OwnedSeries<prometheus::Histogram>;

  // `registry` outlives it.
  JobMetrics(prometheus::Registry& registry, const std::string& job);

  Counter grants;
  Counter pushes;
  Counter closings;
  Counter snapshots;
  Counter blocks_refused;
  Counter checkpoints;
  Counter checkpoints_failed;
  Gauge version;
  Gauge samples;
  Gauge workers;
  Gauge accuracy_ratio;
  Gauge last_push_timestamp_seconds;
  Gauge last_checkpoint_timestamp_seconds;
  Histogram gap;
  Histogram staleness;
  Histogram gate_wait_seconds;
  Histogram checkpoint_seconds;
  std::map<LossReason, Counter> workers_lost;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOB_METRICS_H_
