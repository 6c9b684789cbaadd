#ifndef PACELINE_TESTS_COMMON_SEED_COUNT_H_
#define PACELINE_TESTS_COMMON_SEED_COUNT_H_

#include <cstdint>
#include <cstdlib>

#include "tests/common/sanitized.h"

namespace paceline {

// How many seeds a randomized test of the pure core tries in every run of the
// tests: a fifth of `full`, which is for a change of what it tests, with
// PACELINE_ALL_SEEDS in the environment. Under a sanitizer, which makes that
// code ten times slower and sees nothing in the next seeds that it would not in
// these, a tenth of that.
inline uint64_t SeedCount(uint64_t full) {
  if (std::getenv("PACELINE_ALL_SEEDS") != nullptr) return full;
  return full / (kSanitized ? 50 : 5);
}

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SEED_COUNT_H_
