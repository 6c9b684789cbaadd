#include "tests/services/coordinator/run/recording_observer.h"

#include "gtest/gtest.h"
#include "tests/services/coordinator/run/fake_worker.h"

namespace paceline {

void RecordingObserver::Started(int64_t parameters, int64_t train_samples) {
  absl::MutexLock lock(&mu_);
  history_.started.emplace_back(parameters, train_samples);
}

void RecordingObserver::Progressed(const v1::JobProgress& progress) {
  absl::MutexLock lock(&mu_);
  history_.progress.push_back(progress);
}

void RecordingObserver::Evaluated(const v1::AccuracyPoint& point) {
  absl::MutexLock lock(&mu_);
  history_.accuracy.push_back(point);
}

void RecordingObserver::Decided(const v1::Decision& decision) {
  absl::MutexLock lock(&mu_);
  history_.decisions.push_back(decision);
}

void RecordingObserver::Warned(const std::string& text) {
  absl::MutexLock lock(&mu_);
  history_.warnings.push_back(text);
}

void RecordingObserver::ParadigmSwitched(const std::string& paradigm) {
  absl::MutexLock lock(&mu_);
  history_.paradigms.push_back(paradigm);
}

void RecordingObserver::BatchingSet(const std::string& batching) {
  absl::MutexLock lock(&mu_);
  history_.batchings.push_back(batching);
}

void RecordingObserver::CheckpointChanged(const v1::Checkpoint& checkpoint,
                                          bool /*again*/) {
  absl::MutexLock lock(&mu_);
  history_.checkpoints.push_back(checkpoint);
}

void RecordingObserver::SavingWasDelayed(const SavingDelayed& delayed) {
  absl::MutexLock lock(&mu_);
  history_.delays.push_back(delayed);
}

void RecordingObserver::SavingHasSucceeded() {
  absl::MutexLock lock(&mu_);
  ++history_.savings_after_delay;
}

RunHistory RecordingObserver::History() const {
  absl::MutexLock lock(&mu_);
  return history_;
}

void RecordingObserver::Await(
    const std::string& what,
    const std::function<bool(const RunHistory&)>& holds) const {
  absl::MutexLock lock(&mu_);
  const auto done = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return holds(history_);
  };
  if (!mu_.AwaitWithTimeout(absl::Condition(&done), kLong)) {
    ADD_FAILURE() << "never told: " << what;
  }
}

}  // namespace paceline
