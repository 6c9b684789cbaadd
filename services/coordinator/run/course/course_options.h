#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_OPTIONS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/job/job_defaults.h"
#include "common/job/metric_target.h"
#include "common/job/paradigm_spec.h"
#include "common/job/rate_spec.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/run/course/model.h"
#include "services/coordinator/run/course/shard_map.h"
#include "services/coordinator/run/course/time_limits.h"
#include "services/coordinator/sync/core/sync_core.h"

namespace paceline {

// When a job stops. Zeros do not limit it.
struct StopConditions {
  int64_t epochs = 0;
  int64_t samples = 0;
  double seconds = 0;
  double target_accuracy = 0;
  double target_loss = 0;
  // Two evaluations in a row at a target end the training.
  bool at_target = false;
  std::optional<MetricTarget> target = {};  // Of any metric.
};

// What can be changed while a run goes on.
struct RunSettings {
  double learning_rate = 0.01;
  RateSpec rate;
  Batching batching = Batching::kEven;
  size_t workers_min = 1;
  StopConditions stop;
  // Time from one checkpoint to the next; zero: none are due.
  absl::Duration checkpoint_interval;
  // The coordinator chooses the paradigm ("auto").
  bool steered = false;
};

// Where a run begins: nowhere yet, or at a checkpoint.
struct RunStart {
  Version version = 0;
  SamplePosition position = {};
  double seconds = 0;                     // Of training so far.
  std::vector<ModelTensor> tensors = {};  // Empty: nothing is prescribed.
  // Of those the weights alone are taken: there may be more of them than the
  // model has.
  bool weights_only = false;
};

// What of a run is fixed from its beginning.
struct CourseOptions {
  uint16_t run = 0;  // A part of its number, for the names of checkpoints.
  absl::Duration lease = kDefaultLease;
  // At least one. Each begins as the primary of one shard.
  std::vector<RunServer> servers;
  // 1: each shard is to have a backup on another server.
  uint32_t replicas = 0;
  // While one is to have a backup and has none, its pushes wait for it.
  bool strict_durability = false;
  ParadigmSpec paradigm;
  uint32_t batch_size = 32;
  uint32_t micro_batch = 0;                             // 0: the whole batch.
  std::optional<double> total_momentum = std::nullopt;  // Of SyncOptions.
  bool ada_scale = false;                               // The same.
  DataAssignment data_assignment = DataAssignment::kDynamic;
  std::vector<ScheduledSwitch> switches = {};
  bool evaluate = true;
  int64_t eval_every = 0;  // Samples; 0: a twentieth of an epoch.
  bool defer_evaluation = false;
  // Evaluations take at most so much of the time that all trainers train; 0:
  // they are not bounded.
  double evaluation_share = 0;
  // Each checkpoint gets a folder of its own in this one; empty: none is
  // written.
  std::string checkpoint_root = {};
  // Where what is trained is saved if that cannot be there: they are tried in
  // turn.
  std::vector<std::string> checkpoint_fallbacks = {};
  // The servers read the weights from a checkpoint, the job's own or the
  // initial weights that its spec names.
  bool restored = false;
  // The folder of the checkpoint from which the job goes on; empty: it begins.
  std::string restore_from = {};
  // A run whose workers are all gone waits for others as long as it takes. If
  // not, it ends after a lease.
  bool waits_for_workers = false;
  // How often it looks at what no input tells it, and says how far it is.
  absl::Duration look_every = kProgressInterval;
  // Null: MakePolicy().
  std::function<std::unique_ptr<SyncPolicy>(const ParadigmSpec&)> make_policy =
      nullptr;
};

// Samples that a run is to count in all, of data with so many.
int64_t SamplesWanted(const StopConditions& stop, uint32_t train_samples);
RateSchedule ScheduleOf(const RunSettings& settings, uint32_t train_samples,
                        uint32_t batch_size);
SyncOptions SyncOptionsOf(const CourseOptions& options,
                          const RunSettings& settings, const RunStart& start,
                          uint32_t train_samples);

// The target by which the evaluations so far end the training, if they do.
std::optional<MetricTarget> ReachedTarget(
    const StopConditions& stop, const std::vector<AccuracyPoint>& accuracy);

// FAILED_PRECONDITION if the model is not that of the checkpoint from which the
// run begins (or whose weights it takes: if these have not all its tensors);
// the errors of CheckPosition() if the data are not.
absl::Status FitsStart(const WorkerModel& model, const RunStart& start);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_COURSE_OPTIONS_H_
