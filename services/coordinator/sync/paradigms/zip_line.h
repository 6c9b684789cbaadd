#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ZIP_LINE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ZIP_LINE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace paceline {

// Where a barrier comes that ends several workers' superstep.
struct BarrierPlan {
  std::vector<int64_t> iterations;  // Each worker does so many; at least 1.
  int64_t waiting = 0;  // The time from the first arrival to the last one.
};

// ZipLine (Zhao et al., ICDM 2019; algorithms.md 5.9): the barrier to which the
// workers come nearest to each other in time. `ends[i]` are the predicted ends
// of worker i's next iterations, strictly ascending. Of equally good barriers
// the earliest. Takes O(R n log n) for R iterations of n workers each,
// less if one is found without any waiting.
// REQUIRES: no worker's list is empty.
BarrierPlan ZipLine(absl::Span<const std::vector<int64_t>> ends);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_ZIP_LINE_H_
