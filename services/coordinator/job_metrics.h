#ifndef PACELINE_SERVICES_COORDINATOR_JOB_METRICS_H_
#define PACELINE_SERVICES_COORDINATOR_JOB_METRICS_H_

#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/metrics/series.h"
#include "services/coordinator/sync/core/decision.h"

namespace paceline {

// Metrics that one evaluation may have beside accuracy and loss, and names of
// them that one job may show.
inline constexpr size_t kMetricsMax = 16;

// Every series the coordinator exports of one job, declared here and nowhere
// else, told apart by the label `job_id` (`job` is the scraper's own); they end
// with this. No label value comes from a member's message but the name under
// which a worker has registered, and in one series its pool and GPU model; its
// series end when it leaves.
class JobMetrics {
 public:
  using Counter = OwnedSeries<prometheus::Counter>;
  using Gauge = OwnedSeries<prometheus::Gauge>;
  using Histogram = OwnedSeries<prometheus::Histogram>;

  // `registry` outlives it.
  JobMetrics(prometheus::Registry& registry, const std::string& job);

 private:
  const LabelledSeries series_;

 public:
  Counter grants = series_.Counter(
      "grants_total", "Iterations that workers were allowed to start.");
  Counter samples_granted =
      series_.Counter("samples_granted_total",
                      "Samples dealt to workers, those dealt again included.");
  Counter samples_counted =
      series_.Counter("samples_counted_total", "Samples of counted pushes.");
  Counter samples_discarded = series_.Counter(
      "samples_discarded_total",
      "Of the counted samples those that nothing was learned from.");
  Counter pushes = series_.Counter("pushes_total", "Pushes counted.");
  Counter closings =
      series_.Counter("closings_total", "Rounds closed into an update.");
  Counter snapshots =
      series_.Counter("snapshots_total", "Snapshots taken for evaluation.");
  Counter blocks_refused = series_.Counter(
      "blocks_refused_total", "Blocks of gradients refused as non-finite.");
  Counter workers_joined = series_.Counter("workers_joined_total",
                                           "Workers that began to take part.");
  Counter checkpoints =
      series_.Counter("checkpoints_total", "Checkpoints begun.");
  Counter checkpoints_failed = series_.Counter(
      "checkpoints_failed_total", "Checkpoints that could not be written.");
  Counter failovers = series_.Counter(
      "failovers_total",
      "Times that a backup has taken a part of the model over.");
  Counter shards_rebuilt = series_.Counter(
      "shards_rebuilt_total",
      "Parts of the model that were lost with their server and went on from a "
      "worker's copy or a checkpoint.");
  Counter degraded_seconds = series_.Counter(
      "degraded_seconds_total",
      "Time in which parts of the model had no backup and were to have one, "
      "summed over the parts.");
  Gauge shards_without_backup = series_.Gauge(
      "shards_without_backup",
      "Parts of the model that are to have a backup, and whose backup has not "
      "everything.");
  Gauge version = series_.Gauge("version", "Updates counted.");
  Gauge samples = series_.Gauge(
      "samples", "Samples counted, those of earlier runs of the job included.");
  Gauge samples_wanted =
      series_.Gauge("samples_wanted",
                    "Samples at which the job ends; 0: it has no such end.");
  Gauge workers = series_.Gauge("workers", "Workers that take part.");
  Gauge last_push_timestamp_seconds = series_.Gauge(
      "last_push_timestamp_seconds", "Unix time of the last counted push.");
  Gauge last_checkpoint_timestamp_seconds =
      series_.Gauge("last_checkpoint_timestamp_seconds",
                    "Unix time of the last checkpoint that is ready.");
  Gauge training_start_timestamp_seconds = series_.Gauge(
      "training_start_timestamp_seconds",
      "Unix time at which the present run began to train; 0 while none does.");
  Gauge checkpoint_interval_seconds =
      series_.Gauge("checkpoint_interval_seconds",
                    "Time from one checkpoint to the next; 0: none are due.");
  Histogram gap = series_.Histogram(
      "gap_iterations", "Gap of a worker when its push was counted.",
      CountBuckets());
  Histogram staleness = series_.Histogram(
      "staleness_updates",
      "Staleness of a push when it was counted. One that fills a wait counts "
      "as if the open round were closed.",
      CountBuckets());
  Histogram gate_wait_seconds = series_.Histogram(
      "gate_wait_seconds", "Time from a worker's push to its next grant.",
      DurationBuckets());
  Histogram round_seconds = series_.Histogram(
      "round_seconds", "Time from one closing to the next.", DurationBuckets());
  Histogram checkpoint_seconds = series_.Histogram(
      "checkpoint_seconds", "Time to write a checkpoint.", DurationBuckets());
  std::map<LossReason, Counter> workers_lost;
  std::map<DecisionKind, Counter> decisions;

  static constexpr size_t kWorkersMax = 100;

  // Of one worker that takes part: the label `worker`.
  struct Worker {
    Worker(const LabelledSeries& of, std::string pool, std::string gpu_model)
        : series_(of),
          pool_(std::move(pool)),
          gpu_model_(std::move(gpu_model)) {
      info_->Set(1);
    }

    bool Is(const std::string& pool, const std::string& gpu_model) const {
      return pool_ == pool && gpu_model_ == gpu_model;
    }

   private:
    const LabelledSeries series_;
    const std::string pool_;
    const std::string gpu_model_;
    Gauge info_ =
        series_.With({{"pool", pool_}, {"gpu_model", gpu_model_}})
            .Gauge("worker_info", "1, with its pool and GPU model as labels.");

   public:
    Gauge samples_per_second =
        series_.Gauge("worker_samples_per_second",
                      "Measured rate of a worker while it computes, loads, "
                      "pushes and pulls.");
    Gauge straggler_score =
        series_.Gauge("worker_straggler_score_ratio",
                      "Time per sample over the median of all workers.");
    Gauge straggler =
        series_.Gauge("worker_straggler",
                      "1 while the worker is flagged as a straggler, else 0.");
    Gauge gap = series_.Gauge("worker_gap_iterations",
                              "Iterations ahead of the slowest worker.");
    Gauge batch =
        series_.Gauge("worker_batch_samples",
                      "Samples of an iteration as they are dealt to it now.");
    Gauge lag = series_.Gauge("worker_lag_updates",
                              "Updates counted since the weights that it "
                              "computes on; 0 while it waits.");
  };

  // What follows is for one thread.

  // Made when it is first asked for, with where and on what it runs as labels
  // of a series of its own; made anew when that has changed, because another
  // process has come with its name. Null beyond kWorkersMax, so that a large
  // job does not flood who stores its series.
  Worker* OfWorker(const std::string& worker, const std::string& pool,
                   const std::string& gpu_model);
  // Ends the series of all others.
  void KeepWorkers(const std::set<std::string>& present);

  // The name of the paradigm, as the label of a series that is 1.
  void SetParadigm(const std::string& paradigm);
  // Nothing, if the paradigm has no such thing: then there is no series.
  void SetThreshold(std::optional<int64_t> iterations);
  void SetGroups(std::optional<int64_t> groups);
  // There is no series before the first value.
  void SetAccuracy(double ratio);
  void SetLoss(double nats);
  // As of GradientNoise (jobs.proto); `scale`: nothing while it is not known.
  void SetGradientNoise(double norm, std::optional<double> scale);
  // What else the last evaluation has measured, by its names: the label
  // `metric`. One that is missing keeps its last value; names beyond
  // kMetricsMax in all are left out.
  void SetMetrics(const std::map<std::string, double>& metrics);

  // For one thread at a time, which may be another.
  void Switched(const std::string& from, const std::string& to);

 private:
  void SetOrEnd(std::optional<double> value, const char* name, const char* help,
                std::optional<Gauge>& gauge);

  std::map<std::string, Worker> workers_;
  std::string paradigm_;
  std::optional<Gauge> info_;
  std::optional<Gauge> threshold_;
  std::optional<Gauge> groups_;
  std::optional<Gauge> accuracy_;
  std::optional<Gauge> loss_;
  std::optional<Gauge> gradient_norm_;
  std::optional<Gauge> noise_scale_;
  std::map<std::string, Gauge> metrics_;
  std::map<std::pair<std::string, std::string>, Counter> switches_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOB_METRICS_H_
