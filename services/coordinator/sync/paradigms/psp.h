#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_PSP_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_PSP_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "services/coordinator/sync/paradigms/worker_sampler.h"

namespace paceline {

// Probabilistic synchronous parallel (Wang et al., arXiv 1709.07772;
// algorithms.md 5.20): every push is applied as it arrives; its worker samples
// `beta` of the others without replacement and waits while any of them is more
// than `s` behind. beta = 0 is ASP, beta >= workers - 1 is SSP; s = 0 is called
// pBSP, more pSSP.
//
// Our reading: the sample is kept while the worker waits, and a sampled worker
// that leaves or becomes idle is waited for no longer. Nothing is drawn when
// even the slowest worker is within s: every sample would let the worker go.
class Psp final : public SyncPolicy {
 public:
  // REQUIRES: beta >= 0; s >= 0.
  explicit Psp(const PspOptions& options);

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // Releases the event's own worker first, then those who waited for it, by
  // clock and then by id.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }

 private:
  using Waiters = absl::btree_set<std::pair<WorkerClock, WorkerId>>;
  struct Held {
    WorkerClock clock = 0;
    int64_t sampled = 0;
    // The workers of the sample that are more than s behind; not empty.
    absl::btree_set<WorkerId> behind;
  };

  // Releases the worker or holds it.
  void Decide(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions);
  // Lets those go who have waited for `worker` alone and whose clocks are at
  // most `up_to`.
  void Reconsider(WorkerId worker, WorkerClock up_to,
                  std::vector<Action>& actions);
  // Takes the worker out of every sample and wait.
  void Remove(WorkerId worker, std::vector<Action>& actions);
  void StopWaiting(WorkerId worker);

  const PspOptions options_;
  WorkerSampler sampler_;  // Draws from the workers that are not idle.
  absl::btree_map<WorkerId, Held> held_;
  absl::btree_map<WorkerId, Waiters> waited_for_;  // The inverse of `behind`.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_PSP_H_
