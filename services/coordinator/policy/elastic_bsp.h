#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_ELASTIC_BSP_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_ELASTIC_BSP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "services/coordinator/policy/busy_times.h"
#include "services/coordinator/policy/sync_policy.h"
#include "services/coordinator/policy/zip_line.h"

namespace paceline {

// ElasticBSP (Zhao et al., ICDM 2019; algorithms.md 5.9): supersteps with a
// barrier where the workers are predicted to come nearest to each other, so
// that a fast one does several iterations while a slow one does one. Between
// two barriers every push is applied as it arrives.
//
// Our reading: everybody starts anew at the barrier, so that a worker's i-th
// iteration is predicted to end after i of its latest busy time (from release
// to push, of a short range in proportion). While one of them is not known yet,
// everybody does one iteration. Who joins or resumes waits for the next
// barrier. A push under a plan older than the Adopt is the worker's first and,
// as in a cold superstep, its last.
class ElasticBsp final : public SyncPolicy {
 public:
  // Looks `r` iterations of every worker ahead.  REQUIRES: r >= 1.
  explicit ElasticBsp(int64_t r);

  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }
  std::string Describe() const override;

 private:
  void GoOn(absl::Time now, WorkerId worker, int64_t left,
            std::vector<Action>& actions);
  void Pushed(absl::Time now, const PushDone& done,
              std::vector<Action>& actions);
  void Wait(absl::Time now, WorkerId worker, std::vector<Action>& actions);
  // The worker is out of the superstep, which may complete it.
  void Remove(absl::Time now, WorkerId worker, std::vector<Action>& actions);

  // Begins a superstep of those who wait, if there are any.
  void Begin(absl::Time now, std::vector<Action>& actions);
  // When those who wait come together next, in their order; nothing while a
  // busy time is unknown.
  std::optional<BarrierPlan> Predict() const;

  const int64_t r_;
  // Iterations until the barrier, the one under way included.
  absl::btree_map<WorkerId, int64_t> computing_;
  absl::btree_set<WorkerId> waiting_;  // At the barrier.
  BusyTimes busy_{/*alpha=*/1};        // The latest alone counts.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_ELASTIC_BSP_H_
