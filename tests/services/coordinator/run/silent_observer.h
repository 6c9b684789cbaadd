#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_SILENT_OBSERVER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_SILENT_OBSERVER_H_

#include <cstdint>
#include <string>

#include "services/coordinator/run/run_observer.h"

namespace paceline {

// Keeps nothing of what a run tells.
class SilentObserver : public RunObserver {
 public:
  void Started(int64_t, int64_t) override {}
  void Progressed(const v1::JobProgress&) override {}
  void Evaluated(const v1::AccuracyPoint&) override {}
  void Decided(const v1::Decision&) override {}
  void Warned(const std::string&) override {}
  void ParadigmSwitched(const std::string&) override {}
  void BatchingSet(const std::string&) override {}
  void CheckpointChanged(const v1::Checkpoint&, bool) override {}
  void SavingWasDelayed(const SavingDelayed&) override {}
  void SavingHasSucceeded() override {}
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_SILENT_OBSERVER_H_
