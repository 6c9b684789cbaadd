#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_BATCH_BALANCER_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_BATCH_BALANCER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// How many samples each worker computes an iteration, so that all take equally
// long: in proportion to their measured rates (samples per second from grant to
// push, waiting at the gate excluded, smoothed), with the sum of P * B kept. A
// share lies between B / 8 (at least 1) and 4 * B; what a limit takes or gives,
// the others share. Fixed costs of an iteration are part of the measured rate,
// so that repeated balancing equalizes the whole times and not only the
// computing.
//
// The batches are even until every worker has pushed twice. Rates are measured
// while they are even, too: balancing that begins later knows them, and so does
// another paradigm. Thread-compatible;
// amortized O(log workers) an operation.
class BatchBalancer {
 public:
  BatchBalancer(Batching batching, uint32_t batch_size);

  void SetBatching(Batching batching);
  Batching batching() const { return batching_; }

  void Join(WorkerId worker);
  void Leave(WorkerId worker);

  // The worker took `busy` for an iteration of `samples` (at least 1).
  // REQUIRES: it is a member.
  void Pushed(WorkerId worker, absl::Duration busy, uint32_t samples);

  // The worker dropped an iteration after `elapsed`, not finished: it is no
  // faster than that. So who is always told to drop does not keep the batches
  // of all others even.  REQUIRES: it is a member.
  void Abandoned(WorkerId worker, absl::Duration elapsed);

  // The number of samples of the worker's next iteration.
  // REQUIRES: it is a member.
  uint32_t SizeFor(WorkerId worker);

  // What the members take for an iteration of that size, those that were
  // measured.
  absl::btree_map<WorkerId, Pace> Paces();

 private:
  struct Member {
    int64_t pushes = 0;
    double rate = 0;  // Samples per second, smoothed; 0: not known.
    uint32_t size = 0;
  };

  void Balance();

  Batching batching_;
  const uint32_t batch_size_;
  std::map<WorkerId, Member> members_;
  size_t unknown_ = 0;        // Members without a rate.
  size_t until_balance_ = 0;  // So many pushes come before the next balancing.
};

// Splits `total` in proportion to `weights` (positive), each part a whole
// number within [least, most], the sum exact; of equal claims on a rest the
// first comes first.  REQUIRES: least * n <= total <= most * n.
std::vector<uint32_t> SplitInProportion(uint64_t total,
                                        const std::vector<double>& weights,
                                        uint32_t least, uint32_t most);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_BATCH_BALANCER_H_
