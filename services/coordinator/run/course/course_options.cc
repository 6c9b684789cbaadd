#include "services/coordinator/run/course/course_options.h"

#include <algorithm>

#include "common/job/job_defaults.h"
#include "common/status.h"

namespace paceline {

int64_t SamplesWanted(const StopConditions& stop, uint32_t train_samples) {
  const int64_t whole = int64_t{train_samples} * stop.epochs;
  if (stop.samples == 0) return whole;
  return whole == 0 ? stop.samples : std::min(whole, stop.samples);
}

RateSchedule ScheduleOf(const RunSettings& settings, uint32_t train_samples,
                        uint32_t batch_size) {
  return RateSchedule(settings.learning_rate, settings.rate,
                      SamplesWanted(settings.stop, train_samples), batch_size);
}

SyncOptions SyncOptionsOf(const CourseOptions& options,
                          const RunSettings& settings, const RunStart& start,
                          uint32_t train_samples) {
  SyncOptions sync;
  sync.train_samples = train_samples;
  sync.max_samples = SamplesWanted(settings.stop, train_samples);
  sync.batch_size = options.batch_size;
  sync.micro_batch = options.micro_batch;
  sync.total_momentum = options.total_momentum;
  sync.ada_scale = options.ada_scale;
  sync.servers = static_cast<int>(options.servers.size());
  sync.lease = options.lease;
  sync.closings_acknowledged = true;
  sync.make_policy = options.make_policy;
  sync.schedule = ScheduleOf(settings, train_samples, options.batch_size);
  sync.batching = settings.batching;
  sync.data_assignment = options.data_assignment;
  sync.start_version = start.version;
  sync.start = start.position;
  const int64_t counted = SamplesCounted(start.position, train_samples);
  for (const ScheduledSwitch& planned : options.switches) {
    // Those of before were made then, and are the job's paradigm by now.
    if (counted > 0 && planned.samples <= counted) continue;
    sync.switches.push_back(planned);
  }
  if (!options.evaluate) return sync;
  sync.eval_every = EvaluationInterval(options.eval_every, train_samples);
  return sync;
}

absl::Status FitsStart(const WorkerModel& model, const RunStart& start) {
  if (start.weights_only && !start.tensors.empty()) {
    PACELINE_RETURN_IF_ERROR(HasWeights(model.tensors, start.tensors));
  } else if (!start.tensors.empty()) {
    // What a tensor has of its own may be changed from one run to the next.
    const std::string difference = FirstDifference(
        model.tensors, start.tensors, "in the checkpoint", Sameness::kKinds);
    if (!difference.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the checkpoint is of another model than the workers build: ",
          difference, "; run the version that wrote it"));
    }
  }
  return Annotate(CheckPosition(start.position, model.train_samples),
                  "the checkpoint does not fit the training data");
}

std::optional<MetricTarget> ReachedTarget(
    const StopConditions& stop, const std::vector<AccuracyPoint>& accuracy) {
  if (!stop.at_target) return std::nullopt;
  std::vector<MetricTarget> targets;
  if (stop.target_accuracy > 0) {
    targets.push_back(AccuracyTarget(stop.target_accuracy));
  }
  if (stop.target_loss > 0) targets.push_back(LossTarget(stop.target_loss));
  if (stop.target.has_value()) targets.push_back(*stop.target);
  for (const MetricTarget& target : targets) {
    if (TargetReached(accuracy, target)) return target;
  }
  return std::nullopt;
}

}  // namespace paceline
