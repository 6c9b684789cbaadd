#ifndef PACELINE_SERVICES_WORKER_MODEL_GRADIENT_BUCKETS_H_
#define PACELINE_SERVICES_WORKER_MODEL_GRADIENT_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace paceline {

// Tensors [first, end), which lie one behind the other, floats [offset, offset
// + size) of all gradients.
struct GradientBucket {
  size_t first = 0;
  size_t end = 0;
  int64_t offset = 0;
  int64_t size = 0;

  bool operator==(const GradientBucket&) const = default;
};

// Gradients leave a device in pieces that are worth a copy (Li et al., "PyTorch
// Distributed: Experiences on Accelerating Data Parallel Training", 2020,
// section 3.2.2): the tensors from the last to the first, as the backward pass
// finishes them, each bucket of at least `least` floats but the last one.
// `offsets`: where each tensor begins, and at the end where all of them end.
std::vector<GradientBucket> MakeBuckets(absl::Span<const int64_t> offsets,
                                        int64_t least);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_GRADIENT_BUCKETS_H_
