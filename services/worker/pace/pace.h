#ifndef PACELINE_SERVICES_WORKER_PACE_PACE_H_
#define PACELINE_SERVICES_WORKER_PACE_PACE_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "common/rng.h"
#include "services/worker/pace/pace_spec.h"

namespace paceline {

// Imitates a slower device: says until when a worker must sleep so that its
// iteration lasts as long as that device would have taken. Sleeping is the
// caller's. A pure function of its arguments and the seed. Thread-compatible.
//
// The device's time is step_time * samples / batch * slowdown, or, without a
// step time, the measured compute time * slowdown. Micro-batches after the
// first add their cost, likewise multiplied. The iteration's delay comes on
// top, before anything else: so between micro-batches too the iteration is as
// far as the slow device would be. Pauses stop the device's time.
class Pace {
 public:
  // `batch` is the size that step_time is meant for.  REQUIRES: batch > 0.
  Pace(const PaceSpec& spec, int batch, uint64_t seed);

  // Begins an iteration and draws its delay. The first one's start is where
  // pauses count from.  REQUIRES: `start` is not before the last one's.
  void Begin(absl::Time start);

  // When the device would have finished the iteration's first `samples`, for
  // which this machine has computed for `compute`, and of whose micro-batches
  // so many have a cost. Not before Begin's start + compute: slower can be
  // imitated, faster cannot.  REQUIRES: Begin.
  absl::Time Until(absl::Duration compute, int samples,
                   int costly_micro_batches = 0) const;

 private:
  // The time at which `busy` outside of pauses has passed since start_.
  absl::Time SkipPauses(absl::Duration busy) const;

  const PaceSpec spec_;
  const int batch_;
  Rng rng_;
  std::optional<absl::Time> origin_;
  absl::Time start_;
  absl::Duration delay_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PACE_PACE_H_
