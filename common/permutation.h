#ifndef PACELINE_COMMON_PERMUTATION_H_
#define PACELINE_COMMON_PERMUTATION_H_

#include <cstdint>
#include <vector>

namespace paceline {

// The order in which epoch `epoch` (from 0) of a job seeded with `seed` uses
// its `size` samples. A grant names a range of positions in it, and every
// process computes the same one.
std::vector<uint32_t> EpochPermutation(uint64_t seed, uint32_t epoch,
                                       uint32_t size);

}  // namespace paceline

#endif  // PACELINE_COMMON_PERMUTATION_H_
