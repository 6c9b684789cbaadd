#include "services/coordinator/job_metrics.h"

namespace paceline {
namespace {

using prometheus::Labels;
using prometheus::Registry;

JobMetrics::Counter CounterOf(Registry& registry, const Labels& labels,
                              const std::string& name,
                              const std::string& help) {
  return {prometheus::BuildCounter().Name(name).Help(help).Register(registry),
          labels};
}

JobMetrics::Gauge GaugeOf(Registry& registry, const Labels& labels,
                          const std::string& name, const std::string& help) {
  return {prometheus::BuildGauge().Name(name).Help(help).Register(registry),
          labels};
}

JobMetrics::Histogram HistogramOf(
    Registry& registry, const Labels& labels, const std::string& name,
    const std::string& help,
    const prometheus::Histogram::BucketBoundaries& buckets) {
  return {prometheus::BuildHistogram().Name(name).Help(help).Register(registry),
          labels, buckets};
}

}  // namespace

JobMetrics::JobMetrics(Registry& registry, const std::string& job)
    : grants(CounterOf(registry, {{"job", job}},
                       "paceline_coordinator_grants_total",
                       "Iterations that workers were allowed to start.")),
      pushes(CounterOf(registry, {{"job", job}},
                       "paceline_coordinator_pushes_total", "Pushes counted.")),
      closings(CounterOf(registry, {{"job", job}},
                         "paceline_coordinator_closings_total",
                         "Rounds closed into an update.")),
      snapshots(CounterOf(registry, {{"job", job}},
                          "paceline_coordinator_snapshots_total",
                          "Snapshots taken for evaluation.")),
      blocks_refused(CounterOf(registry, {{"job", job}},
                               "paceline_coordinator_blocks_refused_total",
                               "Blocks of gradients refused as non-finite.")),
      checkpoints(CounterOf(registry, {{"job", job}},
                            "paceline_coordinator_checkpoints_total",
                            "Checkpoints begun.")),
      checkpoints_failed(
          CounterOf(registry, {{"job", job}},
                    "paceline_coordinator_checkpoints_failed_total",
                    "Checkpoints that could not be written.")),
      version(GaugeOf(registry, {{"job", job}}, "paceline_coordinator_version",
                      "Updates counted.")),
      samples(GaugeOf(registry, {{"job", job}}, "paceline_coordinator_samples",
                      "Samples counted.")),
      workers(GaugeOf(registry, {{"job", job}}, "paceline_coordinator_workers",
                      "Workers that take part.")),
      accuracy_ratio(GaugeOf(registry, {{"job", job}},
                             "paceline_coordinator_accuracy_ratio",
                             "Test accuracy of the last evaluation.")),
      last_push_timestamp_seconds(
          GaugeOf(registry, {{"job", job}},
                  "paceline_coordinator_last_push_timestamp_seconds",
                  "Unix time of the last counted push.")),
      last_checkpoint_timestamp_seconds(
          GaugeOf(registry, {{"job", job}},
                  "paceline_coordinator_last_checkpoint_timestamp_seconds",
                  "Unix time of the last checkpoint that is ready.")),
      gap(HistogramOf(
          registry, {{"job", job}}, "paceline_coordinator_gap_iterations",
          "Gap of a worker when its push was counted.", CountBuckets())),
      staleness(HistogramOf(
          registry, {{"job", job}}, "paceline_coordinator_staleness_updates",
          "Staleness of a push when it was counted.", CountBuckets())),
      gate_wait_seconds(HistogramOf(registry, {{"job", job}},
                                    "paceline_coordinator_gate_wait_seconds",
                                    "Time from a worker's push to its next "
                                    "grant.",
                                    DurationBuckets())),
      checkpoint_seconds(HistogramOf(
          registry, {{"job", job}}, "paceline_coordinator_checkpoint_seconds",
          "Time to write a checkpoint.", DurationBuckets())) {
  for (const LossReason reason :
       {LossReason::kStreamBroken, LossReason::kLeaseEnded, LossReason::kStuck,
        LossReason::kDeparted, LossReason::kFailed}) {
    workers_lost.emplace(
        reason, CounterOf(registry, {{"job", job}, {"reason", Render(reason)}},
                          "paceline_coordinator_workers_lost_total",
                          "Workers that are no longer members, by reason."));
  }
}

}  // namespace paceline
