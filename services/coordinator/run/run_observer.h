#ifndef PACELINE_SERVICES_COORDINATOR_RUN_RUN_OBSERVER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_RUN_OBSERVER_H_

#include <cstdint>
#include <string>

#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/run/course/run_messages.h"

namespace paceline {

// Whom a run tells how it goes, on the run's own thread and without a lock.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // The first grant is about to be issued.
  virtual void Started(int64_t parameters, int64_t train_samples) = 0;
  // About twice a second.
  virtual void Progressed(const v1::JobProgress& progress) = 0;
  virtual void Evaluated(const v1::AccuracyPoint& point) = 0;
  // `sequence` and `time` are not filled.
  virtual void Decided(const v1::Decision& decision) = 0;
  // People should look at it; empty: not any more.
  virtual void Warned(const std::string& text) = 0;
  // Another paradigm, in full, is in force.
  virtual void ParadigmSwitched(const std::string& paradigm) = 0;
  // Who chooses the paradigm has chosen how batches are divided, too.
  virtual void BatchingSet(const std::string& batching) = 0;
  // It has begun to be written, is ready, or has failed; `again` if one of that
  // name has failed before. `name` is its id.
  virtual void CheckpointChanged(const v1::Checkpoint& checkpoint,
                                 bool again) = 0;
  // What was trained cannot be saved for now, or takes long to be.
  virtual void SavingWasDelayed(const SavingDelayed& delayed) = 0;
  // After that, it is saved.
  virtual void SavingHasSucceeded() = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_RUN_OBSERVER_H_
