#ifndef PACELINE_SERVICES_PARAMETER_SERVER_SERVER_METRICS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_SERVER_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "common/metrics/series.h"

namespace paceline {

// Every series a parameter server exports, declared here and nowhere else.
struct ServerMetrics {
  explicit ServerMetrics(prometheus::Registry& registry)
      : pushed_blocks(CounterSeries(registry,
                                    "paceline_server_pushed_blocks_total",
                                    "Blocks of gradients taken.")),
        push_bytes(CounterSeries(registry, "paceline_server_push_bytes_total",
                                 "Payload bytes of pushed blocks.")),
        refused_blocks(CounterSeries(registry,
                                     "paceline_server_refused_blocks_total",
                                     "Blocks refused as non-finite.")),
        pulls(CounterSeries(registry, "paceline_server_pulls_total",
                            "Pulls answered, snapshots included.")),
        pull_bytes(CounterSeries(registry, "paceline_server_pull_bytes_total",
                                 "Payload bytes of pulled blocks.")),
        pulls_failed(CounterSeries(registry,
                                   "paceline_server_pulls_failed_total",
                                   "Pulls that ended without the weights.")),
        closings(CounterSeries(registry, "paceline_server_closings_total",
                               "Rounds drained into an update.")),
        closing_seconds(HistogramSeries(
            registry, "paceline_server_closing_seconds",
            "Time to drain the rounds of a closing.", DurationBuckets())),
        pull_seconds(HistogramSeries(
            registry, "paceline_server_pull_wait_seconds",
            "Time from a pull's arrival to its answer.", DurationBuckets())),
        parked_pulls(GaugeSeries(registry, "paceline_server_parked_pulls",
                                 "Pulls that wait for a closing.")),
        open_rounds(GaugeSeries(registry, "paceline_server_open_rounds",
                                "Rounds that hold gradients.")),
        snapshots(GaugeSeries(registry, "paceline_server_snapshots",
                              "Snapshots held.")),
        jobs(GaugeSeries(registry, "paceline_server_jobs", "Jobs hosted.")),
        parameter_bytes(
            GaugeSeries(registry, "paceline_server_parameter_bytes",
                        "Weights and optimizer state of all hosted blocks.")),
        checkpoints(CounterSeries(registry, "paceline_server_checkpoints_total",
                                  "Checkpoint files begun.")),
        checkpoint_failures(
            CounterSeries(registry, "paceline_server_checkpoint_failures_total",
                          "Checkpoint files that were not written.")),
        checkpoint_bytes(CounterSeries(registry,
                                       "paceline_server_checkpoint_bytes_total",
                                       "Bytes of checkpoint files written.")),
        checkpoint_seconds(HistogramSeries(
            registry, "paceline_server_checkpoint_seconds",
            "Time to write one checkpoint file.", DurationBuckets())),
        checkpoint_last_success(GaugeSeries(
            registry,
            "paceline_server_checkpoint_last_success_timestamp_seconds",
            "Unix time at which the last checkpoint file was complete.")) {}

  prometheus::Counter& pushed_blocks;
  prometheus::Counter& push_bytes;
  prometheus::Counter& refused_blocks;
  prometheus::Counter& pulls;
  prometheus::Counter& pull_bytes;
  prometheus::Counter& pulls_failed;
  prometheus::Counter& closings;
  prometheus::Histogram& closing_seconds;
  prometheus::Histogram& pull_seconds;
  prometheus::Gauge& parked_pulls;
  prometheus::Gauge& open_rounds;
  prometheus::Gauge& snapshots;
  prometheus::Gauge& jobs;
  prometheus::Gauge& parameter_bytes;
  prometheus::Counter& checkpoints;
  prometheus::Counter& checkpoint_failures;
  prometheus::Counter& checkpoint_bytes;
  prometheus::Histogram& checkpoint_seconds;
  prometheus::Gauge& checkpoint_last_success;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_SERVER_METRICS_H_
