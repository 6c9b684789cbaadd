#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_WORKER_SAMPLER_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_WORKER_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/rng.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Draws workers at random without replacement, from a seed. Adding and removing
// take O(1), a draw of n takes O(n). Thread-compatible.
class WorkerSampler {
 public:
  explicit WorkerSampler(uint64_t seed) : rng_(seed) {}

  // Add() does nothing for a worker that is there already, Remove() for one
  // that is not.
  void Add(WorkerId worker);
  void Remove(WorkerId worker);

  // `count` of the workers other than `self`, or all of them if there are no
  // more. Every choice is equally likely.
  std::vector<WorkerId> DrawOthers(WorkerId self, int64_t count);

 private:
  void Swap(size_t i, size_t j);

  Rng rng_;
  std::vector<WorkerId> workers_;  // The draws so far have shuffled them.
  absl::flat_hash_map<WorkerId, size_t> places_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_WORKER_SAMPLER_H_
