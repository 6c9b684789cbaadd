#include "common/permutation.h"

#include <numeric>
#include <utility>

#include "common/rng.h"

namespace paceline {

std::vector<uint32_t> EpochPermutation(uint64_t seed, uint32_t epoch,
                                       uint32_t size) {
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  Rng rng(DeriveSeed(seed, epoch));
  // Fisher and Yates, from the end (Knuth, TAOCP 2, 3.4.2, algorithm P).
  for (uint32_t last = size; last > 1; --last) {
    std::swap(order[last - 1], order[rng.Below(last)]);
  }
  return order;
}

}  // namespace paceline
