#ifndef PACELINE_SERVICES_WORKER_COMPUTATION_SOURCE_H_
#define PACELINE_SERVICES_WORKER_COMPUTATION_SOURCE_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/tensor/dtype.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/worker/computation.h"

namespace paceline {

// Whatever computes that is not built in. A worker that has one takes part in
// its jobs alone. Thread-compatible, but for Wake().
class ComputationSource {
 public:
  virtual ~ComputationSource() = default;

  // Has the assignment's computation ready, until End(); there is one at a
  // time. CANCELLED once `stopped`, which also ends the computation's own
  // waits, says so. INVALID_ARGUMENT for a job that is none of its; otherwise
  // why this worker cannot take part. `wire`: what gradients are in memory
  // (HeldAs()).
  virtual absl::StatusOr<std::unique_ptr<Computation>> Prepare(
      const v1::Assignment& assignment, DType wire,
      const std::function<bool()>& stopped) = 0;

  // The assignment has ended, as `stop` says, and the computation is no more.
  // May take some seconds, unless `hurried`, which is asked ten times a second,
  // says so.
  virtual void End(const v1::Stop& stop,
                   const std::function<bool()>& hurried) = 0;

  // What a computation waits for may have changed. Safe from any thread.
  virtual void Wake() = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_COMPUTATION_SOURCE_H_
