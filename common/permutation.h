#ifndef PACELINE_COMMON_PERMUTATION_H_
#define PACELINE_COMMON_PERMUTATION_H_

#include <cstdint>
#include <vector>

namespace paceline {

// The order in which epoch `epoch` (from 0) of a job seeded with `seed` uses
// its `size` samples. A grant names a range of positions in it, and every
// process computes the same one.
//
// With `parts`, the epoch is divided into so many, neighbours at PartBegin().
// Which samples a part has depends on the seed and on `parts` alone; in which
// order it has them, on the epoch as well.  REQUIRES: parts <= size.
std::vector<uint32_t> EpochPermutation(uint64_t seed, uint32_t epoch,
                                       uint32_t size, uint32_t parts = 0);

// Where part `part` (from 0) of `parts` begins among `size` positions, and the
// one before it ends. Their sizes differ by one at most, the first ones are the
// larger ones.  REQUIRES: 0 < parts; part <= parts.
constexpr uint32_t PartBegin(uint32_t size, uint32_t parts, uint32_t part) {
  const uint32_t larger = size % parts;
  return size / parts * part + (part < larger ? part : larger);
}

}  // namespace paceline

#endif  // PACELINE_COMMON_PERMUTATION_H_
