#ifndef PACELINE_SERVICES_COORDINATOR_RUN_TRAINING_PACES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_TRAINING_PACES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/job/paradigm_spec.h"
#include "services/coordinator/run/pace_history.h"

namespace paceline {

// How a job's samples are divided.
struct PlayedJob {
  uint32_t batch_size = 32;
  uint32_t micro_batch = 0;  // 0: the whole batch.
  Batching batching = Batching::kEven;
  // What each micro-batch of an iteration after its first takes besides its
  // samples' time, as a share of the time of a full batch, as far as is known.
  double micro_batch_cost = 0;
  // The rate of a round has AdaScaleGain(), by the noise of one batch as far as
  // it is known.
  bool ada_scale = false;
  std::optional<double> noise = std::nullopt;
};

// A job that trains, at one moment, as far as its paradigm's choice goes.
struct TrainingPaces {
  double seconds = 0;  // Of training.
  // Until the end at the present speed; nothing: no end is known.
  std::optional<double> seconds_left;
  ParadigmSpec present;
  bool switching = false;  // It takes over with the next closing.
  PlayedJob job;
  std::vector<MeasuredWorker> workers;  // All that train, in any order.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_TRAINING_PACES_H_
