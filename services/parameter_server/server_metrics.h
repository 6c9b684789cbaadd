#ifndef PACELINE_SERVICES_PARAMETER_SERVER_SERVER_METRICS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_SERVER_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "common/metrics/series.h"

namespace paceline {

// Every series a parameter server exports, declared here and nowhere else.
class ServerMetrics {
 private:
  prometheus::Registry& registry_;

 public:
  explicit ServerMetrics(prometheus::Registry& registry)
      : registry_(registry) {}

  prometheus::Counter& pushed_blocks =
      CounterSeries(registry_, "paceline_server_pushed_blocks_total",
                    "Blocks of gradients taken.");
  prometheus::Counter& push_bytes =
      CounterSeries(registry_, "paceline_server_push_bytes_total",
                    "Payload bytes of pushed blocks.");
  prometheus::Counter& lane_bytes =
      CounterSeries(registry_, "paceline_server_lane_bytes_total",
                    "Payload bytes that came through shared memory.");
  prometheus::Counter& refused_blocks =
      CounterSeries(registry_, "paceline_server_refused_blocks_total",
                    "Blocks refused as non-finite.");
  prometheus::Counter& pulls =
      CounterSeries(registry_, "paceline_server_pulls_total",
                    "Pulls answered, snapshots included.");
  prometheus::Counter& pull_bytes =
      CounterSeries(registry_, "paceline_server_pull_bytes_total",
                    "Payload bytes of pulled blocks.");
  prometheus::Counter& pulls_failed =
      CounterSeries(registry_, "paceline_server_pulls_failed_total",
                    "Pulls that ended without the weights.");
  prometheus::Counter& closings =
      CounterSeries(registry_, "paceline_server_closings_total",
                    "Rounds drained into an update.");
  prometheus::Histogram& closing_seconds = HistogramSeries(
      registry_, "paceline_server_closing_seconds",
      "Time to drain what a closing finds. Of one that was announced that is "
      "usually nothing.",
      DurationBuckets());
  prometheus::Histogram& pull_seconds = HistogramSeries(
      registry_, "paceline_server_pull_wait_seconds",
      "Time from a pull's arrival to its answer. One that was asked for ahead "
      "of its grant waits for the other workers too.",
      DurationBuckets());
  prometheus::Counter& replica_entries =
      CounterSeries(registry_, "paceline_server_replica_entries_total",
                    "Changes sent to backups, what fills them included.");
  prometheus::Counter& replica_bytes =
      CounterSeries(registry_, "paceline_server_replica_bytes_total",
                    "Bytes sent to backups.");
  prometheus::Gauge& replica_lag =
      GaugeSeries(registry_, "paceline_server_replica_lag_entries",
                  "Changes that backups are not known to have.");
  prometheus::Gauge& parked_pulls =
      GaugeSeries(registry_, "paceline_server_parked_pulls",
                  "Pulls that wait for a closing.");
  prometheus::Gauge& open_rounds = GaugeSeries(
      registry_, "paceline_server_open_rounds", "Rounds that hold gradients.");
  prometheus::Gauge& snapshots =
      GaugeSeries(registry_, "paceline_server_snapshots", "Snapshots held.");
  prometheus::Gauge& jobs =
      GaugeSeries(registry_, "paceline_server_jobs", "Jobs hosted.");
  prometheus::Gauge& parameter_bytes =
      GaugeSeries(registry_, "paceline_server_parameter_bytes",
                  "Weights and optimizer state of all hosted blocks.");
  prometheus::Counter& checkpoints =
      CounterSeries(registry_, "paceline_server_checkpoints_total",
                    "Checkpoint files begun.");
  prometheus::Counter& checkpoint_failures =
      CounterSeries(registry_, "paceline_server_checkpoint_failures_total",
                    "Checkpoint files that were not written.");
  prometheus::Counter& checkpoint_bytes =
      CounterSeries(registry_, "paceline_server_checkpoint_bytes_total",
                    "Bytes of checkpoint files written.");
  prometheus::Histogram& checkpoint_seconds =
      HistogramSeries(registry_, "paceline_server_checkpoint_seconds",
                      "Time to write one checkpoint file.", DurationBuckets());
  prometheus::Gauge& checkpoint_last_success = GaugeSeries(
      registry_, "paceline_server_checkpoint_last_success_timestamp_seconds",
      "Unix time at which the last checkpoint file was complete.");
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_SERVER_METRICS_H_
