#ifndef PACELINE_SERVICES_COORDINATOR_RUN_PACE_HISTORY_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_PACE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// One iteration as its worker has measured it.
struct MeasuredIteration {
  absl::Duration compute;  // Loading included; more than 0.
  absl::Duration push;
  absl::Duration pull;
  uint32_t samples = 1;    // At least 1.
  bool discarded = false;  // Nothing was learned from them.
  double at = 0;           // Seconds of training, when it was reported.
  // Micro-batches in which it was computed, at least 1.
  uint32_t micro_batches = 1;
};

// One worker of a job, as far as it was measured.
struct MeasuredWorker {
  std::string name;
  SampleWishes wishes = {};
  std::vector<MeasuredIteration> iterations = {};  // The latest, in order.
  std::string pool = {};                           // Empty: of none.
};

// The latest iterations of each worker: what other paradigms are played on.
// Thread-compatible.
class PaceHistory {
 public:
  // Enough for the slow ones among times that scatter, and few enough for what
  // has changed to be forgotten.
  static constexpr size_t kKept = 64;

  // The worker has begun an iteration of so many samples in micro-batches of at
  // most `limit`. `at` in seconds of training.
  void Granted(WorkerId worker, double at, uint32_t samples, uint32_t limit);
  // It goes on with more of them.
  void Extended(WorkerId worker, uint32_t samples);
  // It has dropped it, as it was told to. Counts with what it would have taken:
  // as long as one of its known iterations that were longer, or so long if none
  // was. Otherwise who is mostly told to drop would pass for fast. Of a worker
  // that has never finished one nothing is known.
  void BrokenOff(WorkerId worker, double at);
  // It is done. What took no time or had no samples says nothing and is left
  // out, as is what was not granted here. `micro_batches` is not looked at.
  void Reported(WorkerId worker, MeasuredIteration iteration);
  // The worker is gone. Nothing happens if it is unknown.
  void Left(WorkerId worker) { workers_.erase(worker); }

  // Of that worker; none of one that is unknown.
  std::vector<MeasuredIteration> Of(WorkerId worker) const;

 private:
  struct Worker {
    uint32_t granted = 0;  // Of the open iteration; 0: there is none.
    double granted_at = 0;
    size_t broken_off = 0;
    uint32_t limit = 1;
    uint32_t micro_batches = 0;
    std::deque<MeasuredIteration> iterations = {};
  };

  absl::btree_map<WorkerId, Worker> workers_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_PACE_HISTORY_H_
