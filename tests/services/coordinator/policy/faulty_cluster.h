#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_FAULTY_CLUSTER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_FAULTY_CLUSTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/rng.h"
#include "services/coordinator/policy/sync_policy.h"
#include "tests/services/coordinator/policy/invariant_checker.h"

namespace paceline {

// A policy's workers in virtual time, drawn from a seed: their speeds, jitter,
// stalls, messages that overtake each other, joins, losses (also of those whose
// push is under way), idle times. First everything goes wrong that may; then
// nothing more does, and everybody must make progress.
class FaultyCluster {
 public:
  FaultyCluster(SyncPolicy& policy, uint64_t seed,
                const InvariantChecker::Options& invariants);

  void Run();

  // Broken invariants, in order.
  std::vector<std::string> violations() const;
  // Every event and action, a line each.
  const std::string& trace() const { return trace_; }

 private:
  enum class Incident : uint8_t { kPush, kFault };

  void Start();
  void RunFaults();
  void RunHealed();

  void Join();
  void Fault();
  WorkerId AnyMember();
  bool Healed(const std::map<WorkerId, int64_t>& goals) const;

  // Waits for the next incident and lets it happen.
  void Step();
  void Deliver(const Event& event);
  void Perform();
  void StartIteration(WorkerId worker);
  void Schedule(int64_t in_ns, Incident incident, WorkerId worker);

  SyncPolicy& policy_;
  Rng rng_;
  InvariantChecker checker_;
  std::vector<std::string> failures_;  // Beyond those of the checker.

  // Drawn once.
  bool jitter_;
  int64_t latency_ns_;  // Of one message: up to this.

  bool faulty_ = true;
  int64_t now_ns_ = 0;
  uint32_t next_worker_ = 0;
  int64_t pushes_ = 0;
  std::map<WorkerId, int64_t> iteration_ns_;
  // By time, then in the order in which they were scheduled.
  std::map<std::pair<int64_t, uint64_t>, std::pair<Incident, WorkerId>> queue_;
  uint64_t scheduled_ = 0;
  std::vector<WorkerId> without_samples_;
  std::vector<Action> actions_;
  std::string trace_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_FAULTY_CLUSTER_H_
