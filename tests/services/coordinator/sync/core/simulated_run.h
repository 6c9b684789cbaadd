#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_RUN_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_RUN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/coordinator/sync/core/sync_core.h"
#include "services/simulator/cluster_observer.h"
#include "services/simulator/cluster_spec.h"

namespace paceline {

// A small job among a few workers and servers, whose members die, leave, freeze
// and are stuck, whose messages are late or repeated, and which is paused now
// and then; all of it follows from the seed. Every run ends.
ClusterSpec FaultySpec(uint64_t seed, const std::string& paradigm);

// What came of runs.
struct SimulatedRuns {
  // Runs it, if nothing was broken so far.
  void Run(const ClusterSpec& spec, ClusterObserver* observer = nullptr);

  // What the last one broke of what always holds (HistoryChecker).
  std::string verdict;
  // From where it could be taken up again; none if it has never begun.
  std::vector<ResumePoint> points;
  // How often what happened in all of them.
  std::map<LossReason, int64_t> losses;
  std::map<DecisionKind, int64_t> decisions;
  int64_t switches = 0;
  int64_t settled = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_RUN_H_
