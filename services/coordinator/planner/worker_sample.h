#ifndef PACELINE_SERVICES_COORDINATOR_PLANNER_WORKER_SAMPLE_H_
#define PACELINE_SERVICES_COORDINATOR_PLANNER_WORKER_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/run/training_paces.h"

namespace paceline {

// Some workers that stand for many: playing takes as long as there are pushes.

// Workers that one of them stands for: of one pool and about one pace.
struct Stratum {
  size_t pick = 0;              // Who stands for them,
  std::vector<size_t> members;  // of these, by index, from fast to slow.
};

// Divides the workers into `most` strata: each pool into such as are alike
// fast, about equally many in each. Pools are told apart if there are at most
// `most`. The pick is the middle one; of a pool's slowest it is the slowest,
// for whom others may have to wait.
// REQUIRES: 1 <= most <= workers; each worker has iterations.
std::vector<Stratum> Stratify(const PlayedJob& job,
                              absl::Span<const MeasuredWorker> workers,
                              size_t most);

// For whom a worker may have to wait.
enum class Awaits : uint8_t {
  kNobody,  // Or so many, whoever they are: the late ones do not matter.
  kSome,    // Who is very late may hold up others, by far or a little.
  kAll,     // Everybody waits for everybody.
};
Awaits AwaitsOf(const ParadigmSpec& paradigm);

// Who stands for the stratum where everybody waits for everybody: it always
// takes as long as the latest of the members. Of many workers whose times
// scatter somebody is always very late; of a few, taken as they are, less often
// so.
MeasuredWorker LatestOf(const PlayedJob& job,
                        absl::Span<const MeasuredWorker> workers,
                        const Stratum& stratum);

// What the paradigm is among `some` workers that stand for `all`: what counts
// pushes or updates of single pushes is so much smaller. Nothing if it would be
// another paradigm then.  REQUIRES: 1 <= some <= all.
std::optional<ParadigmSpec> AmongSome(const ParadigmSpec& paradigm, size_t some,
                                      size_t all);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PLANNER_WORKER_SAMPLE_H_
