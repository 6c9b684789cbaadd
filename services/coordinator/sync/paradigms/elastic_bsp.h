#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ELASTIC_BSP_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ELASTIC_BSP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "services/coordinator/sync/paradigms/busy_times.h"
#include "services/coordinator/sync/paradigms/zip_line.h"

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

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{ElasticBspOptions{r_}});
  }

 private:
  void GoOn(absl::Time now, WorkerId worker, int64_t left,
            std::vector<Action>& actions);
  void Pushed(const SyncView& view, const PushDone& done,
              std::vector<Action>& actions);
  void Wait(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions);
  // The worker is out of the superstep, which may complete it.
  void Remove(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions);
  // How many iterations the worker does until the barrier, the one under way
  // included.
  int64_t LeftOf(WorkerId worker) const;

  // Begins a superstep of those who wait, if there are any.
  void Begin(const SyncView& view, std::vector<Action>& actions);
  // Predicts when those who wait come together next, in their order; nothing
  // while a busy time is unknown.
  std::optional<BarrierPlan> Predict(const SyncView& view) const;

  const int64_t r_;
  absl::btree_map<WorkerId, int64_t> left_;  // LeftOf(), if it is not 1.
  BusyTimes busy_{/*alpha=*/1};              // The latest one alone counts.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ELASTIC_BSP_H_
