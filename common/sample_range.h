#ifndef PACELINE_COMMON_SAMPLE_RANGE_H_
#define PACELINE_COMMON_SAMPLE_RANGE_H_

#include <compare>
#include <cstdint>

namespace paceline {

// Positions [begin, end) of the permutation of epoch `epoch`
// (common/permutation.h): what a grant deals and a worker loads.
struct SampleRange {
  uint32_t epoch = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  uint32_t size() const { return end - begin; }
  // The check reads a defaulted <=> as a comparison with 0.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const SampleRange&, const SampleRange&) = default;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SAMPLE_RANGE_H_
