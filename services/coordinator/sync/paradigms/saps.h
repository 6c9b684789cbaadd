#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SAPS_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SAPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// Straggler-aware parameter server (Yu et al., HPCC 2019; only its abstract
// could be read: this is our reading, algorithms.md 4.2). Asynchronous, nobody
// waits; stragglers are told by the version of their parameters, and their
// staleness is limited in one of three ways.
//
// A worker whose lag reaches s is a straggler, until 5 pushes in a row came
// with at most s / 2. s is at least 1. Idle workers count as live here: they
// come back.
class Saps final : public SyncPolicy {
 public:
  // REQUIRES: s >= 1, s_max >= s, micro_batches >= 1, starve_limit >= 1.
  explicit Saps(const SapsOptions& options) : options_(options) {}

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // Releases the event's own worker first, then refreshes those who have come
  // to lag, the longest behind first.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }

 private:
  struct Member {
    Version base = 0;  // The version that it computes on, while it does.
    bool straggler = false;
    int64_t fresh_pushes = 0;  // How many a straggler has made in a row.
    int64_t drops = 0;         // How many pushes in a row were discarded.
  };

  int64_t S(const SyncView& view) const;
  int64_t SMax(const SyncView& view) const;

  void GoOn(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions);
  void StopWatching(WorkerId worker);
  // Refreshes everybody whose lag has reached s.
  void RefreshLagging(const SyncView& view, std::vector<Action>& actions);
  // Marks the worker by the lag of its push.
  void Judge(const SyncView& view, WorkerId worker, int64_t lag,
             std::vector<Action>& actions);
  void PlanPushOf(const SyncView& view, const GradientReady& ready,
                  std::vector<Action>& actions);
  PushPlan Damped(const SyncView& view, int64_t staleness) const;
  PushPlan OrDropped(const SyncView& view, WorkerId worker, int64_t staleness);

  const SapsOptions options_;
  std::map<WorkerId, Member> members_;
  // The workers that compute and have not been refreshed, the longest behind
  // first.
  absl::btree_set<std::pair<Version, WorkerId>> watched_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SAPS_H_
