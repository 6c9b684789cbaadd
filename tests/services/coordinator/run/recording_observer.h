#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_RECORDING_OBSERVER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_RECORDING_OBSERVER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "services/coordinator/run/run_observer.h"

namespace paceline {

// Everything that a run has told so far.
struct RunHistory {
  // Parameters and samples; once for every run.
  std::vector<std::pair<int64_t, int64_t>> started;
  std::vector<v1::JobProgress> progress;
  std::vector<v1::AccuracyPoint> accuracy;
  std::vector<v1::Decision> decisions;
  std::vector<std::string> paradigms;
  std::vector<std::string> batchings;
  std::vector<std::string> warnings;
  std::vector<v1::Checkpoint> checkpoints;
  std::vector<SavingDelayed> delays;
  int savings_after_delay = 0;
};

// Keeps what it is told. Thread-safe.
class RecordingObserver : public RunObserver {
 public:
  void Started(int64_t parameters, int64_t train_samples) override;
  void Progressed(const v1::JobProgress& progress) override;
  void Evaluated(const v1::AccuracyPoint& point) override;
  void Decided(const v1::Decision& decision) override;
  void Warned(const std::string& text) override;
  void ParadigmSwitched(const std::string& paradigm) override;
  void BatchingSet(const std::string& batching) override;
  void CheckpointChanged(const v1::Checkpoint& checkpoint, bool again) override;
  void SavingWasDelayed(const SavingDelayed& delayed) override;
  void SavingHasSucceeded() override;

  RunHistory History() const;

  // Waits until that holds; a test fails, and says `what`, if it never does.
  void Await(const std::string& what,
             const std::function<bool(const RunHistory&)>& holds) const;

 private:
  mutable absl::Mutex mu_;
  RunHistory history_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_RECORDING_OBSERVER_H_
