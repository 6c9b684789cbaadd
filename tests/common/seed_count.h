#ifndef PACELINE_TESTS_COMMON_SEED_COUNT_H_
#define PACELINE_TESTS_COMMON_SEED_COUNT_H_

#include <cstdint>

namespace paceline {

// How many seeds a randomized test of the pure core tries: `full`, but under a
// sanitizer, which makes that code ten times slower and finds nothing that a
// tenth of the seeds would not show, a tenth.
constexpr uint64_t SeedCount(uint64_t full) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return full / 10;
#else
  return full;
#endif
}

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SEED_COUNT_H_
