#ifndef PACELINE_COMMON_SAMPLE_RANGE_H_
#define PACELINE_COMMON_SAMPLE_RANGE_H_

#include <algorithm>
#include <compare>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace paceline {

// Positions [begin, end) of the permutation of epoch `epoch`
// (common/permutation.h): what a grant deals and a worker loads.
struct SampleRange {
  uint32_t epoch = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
  // The epoch is divided into so many parts; 0: it is not.
  uint32_t parts = 0;

  uint32_t size() const { return end - begin; }
  // The check reads a defaulted <=> as a comparison with 0.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const SampleRange&, const SampleRange&) = default;
};

// Those of one iteration, in the order in which they are computed.
using SampleRanges = absl::InlinedVector<SampleRange, 1>;

inline uint32_t SamplesIn(absl::Span<const SampleRange> ranges) {
  uint32_t samples = 0;
  for (const SampleRange& range : ranges) samples += range.size();
  return samples;
}

// What the first so many samples are of each range; nothing of the last ones,
// perhaps.  REQUIRES: samples <= SamplesIn(ranges).
inline SampleRanges FrontOf(absl::Span<const SampleRange> ranges,
                            uint32_t samples) {
  SampleRanges front(ranges.begin(), ranges.end());
  for (SampleRange& range : front) {
    range.end = range.begin + std::min(samples, range.size());
    samples -= range.size();
  }
  return front;
}

}  // namespace paceline

#endif  // PACELINE_COMMON_SAMPLE_RANGE_H_
