#include "services/worker/model/gradient_buckets.h"

#include "common/check.h"

namespace paceline {

std::vector<GradientBucket> MakeBuckets(absl::Span<const int64_t> offsets,
                                        int64_t least) {
  CHECK(!offsets.empty());
  std::vector<GradientBucket> buckets;
  size_t end = offsets.size() - 1;
  for (size_t first = end; first-- > 0;) {
    const int64_t size = offsets[end] - offsets[first];
    if (size < least && first > 0) continue;
    buckets.push_back({first, end, offsets[first], size});
    end = first;
  }
  return buckets;
}

}  // namespace paceline
