#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_SAPS_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_SAPS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// How the staleness of a worker's parameters is limited.
enum class SapsMode : uint8_t {
  // A computing worker that is `s` updates behind is told to push what it has
  // at the next boundary of its micro-batches, and pulls anew: no waiting, and
  // no computation lost.
  kRefresh,
  // A push of staleness sigma weighs 1 up to s, s / sigma up to s_max, and is
  // discarded beyond.
  kDamp,
  // A push beyond s is discarded. Of a worker that is always late one push in
  // `starve_limit` + 1 is taken after all, at s / sigma.
  kDrop,
};

struct SapsOptions {
  SapsMode mode = SapsMode::kRefresh;
  std::optional<int64_t> s;      // Nothing: 2 * (live workers - 1).
  std::optional<int64_t> s_max;  // kDamp. Nothing: 3 * s.
  int micro_batches = 8;         // kRefresh: boundaries of a full batch.
  int64_t starve_limit = 10;     // kDrop.
};

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

  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;

  // Releases the event's own worker first, then refreshes those who have come
  // to lag, the longest behind first.
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }
  std::string Describe() const override;

 private:
  struct Member {
    Version base = 0;  // Of its iteration, while it computes.
    bool straggler = false;
    int64_t fresh_pushes = 0;  // In a row, of a straggler.
    int64_t drops = 0;         // In a row.
  };

  int64_t S() const;
  int64_t SMax() const;

  void GoOn(const Moment& at, WorkerId worker, std::vector<Action>& actions);
  void StopWatching(WorkerId worker);
  // Refreshes everybody whose lag has reached s.
  void RefreshLagging(const Moment& at, std::vector<Action>& actions);
  // Marks the worker by the lag of its push.
  void Judge(WorkerId worker, int64_t lag, std::vector<Action>& actions);
  void PlanPushOf(const GradientReady& ready, std::vector<Action>& actions);
  PushPlan Damped(int64_t staleness) const;
  PushPlan OrDropped(Member& member, int64_t staleness) const;

  const SapsOptions options_;
  std::map<WorkerId, Member> members_;
  // Those who compute and have not been refreshed, the longest behind first.
  absl::btree_set<std::pair<Version, WorkerId>> watched_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_SAPS_H_
