#ifndef PACELINE_SERVICES_SIMULATOR_RUN_STATISTICS_H_
#define PACELINE_SERVICES_SIMULATOR_RUN_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/coordinator/int_histogram.h"
#include "services/simulator/cluster_spec.h"
#include "services/simulator/simulation_result.h"
#include "services/simulator/virtual_worker.h"

namespace paceline {

// Adds up what a run measures. Workers go by index. Thread-compatible.
class RunStatistics {
 public:
  explicit RunStatistics(const ClusterSpec& spec);

  void Joined(size_t worker, Nanos at);
  // It is gone; if it waited, it did so up to now.
  void Gone(const VirtualWorker& worker, Nanos at);

  void Granted(size_t worker, Nanos waited);
  // The coordinator hears of an iteration, which the worker reported at
  // `reported`.
  void Pushed(const VirtualWorker& worker, Nanos reported);
  void Abandoned() { ++result_.abandoned; }
  void NotReleased(size_t worker) { ++result_.workers[worker].held; }
  void Counted(size_t worker, const PushCounted& counted);
  void Closed() { ++result_.closings; }
  void Lost() { ++result_.lost; }
  void Decided(size_t worker, const Decision& decision);
  void Switched(const paceline::Switched& switched);
  void Settled(const SwitchSettled& settled);

  // What is left to say: `result` to be completed with the run's own facts.
  SimulationResult Take(Nanos end);

 private:
  // How often each value was seen. Unordered, for there is one of each kind
  // and worker, and every push looks into two.
  using Counts = absl::flat_hash_map<int64_t, int64_t>;

  static void Fill(const Counts& counts, IntHistogram& one, IntHistogram& all);

  const int64_t model_bytes_;
  SimulationResult result_;
  std::vector<Counts> gaps_;
  std::vector<Counts> staleness_;
  std::vector<Nanos> joined_;  // kNever: not there.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_RUN_STATISTICS_H_
