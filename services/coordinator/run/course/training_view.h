#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TRAINING_VIEW_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TRAINING_VIEW_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "services/coordinator/sync/core/sync_core.h"

namespace paceline {

// Where a training stands, for people who look at it.
struct TrainingView {
  struct Worker {
    WorkerId worker;
    WorkerClock clock = 0;
    double straggler_score = 0;  // StragglerDetector::Score
    bool straggler = false;
    uint32_t batch = 0;                         // SyncCore::BatchOf
    std::optional<int64_t> lag = std::nullopt;  // SyncCore::LagOf
  };
  Version version = 0;
  int64_t samples_counted = 0;
  int64_t samples_discarded = 0;  // Of these.
  int64_t samples_total = 0;
  PolicyView policy;
  std::vector<Worker> workers;  // Members, sorted.
};

// Of `core`; empty if that is null: the training has not begun.
TrainingView ViewOf(const SyncCore* core);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_TRAINING_VIEW_H_
