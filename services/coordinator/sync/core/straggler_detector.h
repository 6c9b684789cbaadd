#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_STRAGGLER_DETECTOR_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_STRAGGLER_DETECTOR_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// The detector finds who is much slower than the others. A worker's *score* is
// its time per sample (from grant to push, waiting at the gate excluded,
// smoothed over its latest pushes) over the median of all workers: 1 is the
// usual pace, 4 four times slower. It is flagged at kFlagAt or more and cleared
// at kClearAt or less; the distance between the two keeps it from flapping. A
// change of pace to twice the median or more is seen after 2 pushes, one back
// after at most 10.
//
// A policy may act on a flag at once. People want to know what lasts: a worker
// is a *straggler* once its flag has been raised for kLasts without a break,
// and is one until it has been cleared for as long. On a busy machine equal
// workers are flagged and cleared several times a second.
//
// A first push is not measured: it warms caches. Of an even number of workers
// the lower median counts, so that of two the slower can be flagged.
// Thread-compatible; amortized O(log workers) an operation.
class StragglerDetector {
 public:
  static constexpr double kFlagAt = 1.5;
  static constexpr double kClearAt = 1.25;

  static constexpr absl::Duration kLasts = absl::Seconds(2);

  // What a push has changed.
  struct Changes {
    bool flag = false;
    bool straggler = false;
  };

  void Join(WorkerId worker) { members_.emplace(worker, Member()); }
  void Leave(WorkerId worker);

  // The worker took `busy` for an iteration of `samples` (at least 1).
  // REQUIRES: it is a member; `now` does not go back.
  Changes Pushed(absl::Time now, WorkerId worker, absl::Duration busy,
                 uint32_t samples);

  // 1 while nothing is known.  REQUIRES: `worker` is a member.
  double Score(WorkerId worker) const;
  // False for who is no member.
  bool IsFlagged(WorkerId worker) const;
  bool IsStraggler(WorkerId worker) const;

 private:
  struct Member {
    int64_t pushes = 0;
    double seconds = 0;  // The smoothed time per sample; 0: not known.
    bool flagged = false;
    bool straggler = false;
    absl::Time since;  // When the flag changed last.
  };

  double ScoreOf(const Member& member) const;
  void FindMedian();

  absl::flat_hash_map<WorkerId, Member> members_;
  double median_ = 0;  // 0: not known.
  size_t until_median_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_STRAGGLER_DETECTOR_H_
