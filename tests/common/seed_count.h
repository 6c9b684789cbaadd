#ifndef PACELINE_TESTS_COMMON_SEED_COUNT_H_
#define PACELINE_TESTS_COMMON_SEED_COUNT_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/common/sanitized.h"

namespace paceline {

// How many seeds a randomized test of the pure core tries in every run of the
// tests: a fifth of `full`, which is for a change of what it tests, with
// PACELINE_ALL_SEEDS in the environment. Under a sanitizer, which makes that
// code ten times slower and sees nothing in the next seeds that it would not in
// these, one in fifty of those.
inline uint64_t SeedCount(uint64_t full) {
  if (std::getenv("PACELINE_ALL_SEEDS") != nullptr) return full;
  return std::max<uint64_t>(1, full / (kSanitized ? 250 : 5));
}

// Which seeds a test tries that can be told to try others: from
// PACELINE_FIRST_SEED on PACELINE_SEEDS many.
struct Seeds {
  explicit Seeds(uint64_t otherwise)
      : first(NumberFrom("PACELINE_FIRST_SEED", 1)),
        count(NumberFrom("PACELINE_SEEDS", otherwise)) {}

  static uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::stoull(text);
  }
  uint64_t end() const { return first + count; }

  uint64_t first;
  uint64_t count;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SEED_COUNT_H_
