#include "common/permutation.h"

#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "common/check.h"
#include "common/rng.h"

namespace paceline {
namespace {

// The stream that says which samples a part has: no epoch's.
constexpr uint64_t kPartsStream = uint64_t{1} << 32;

// Fisher and Yates, from the end (Knuth, TAOCP 2, 3.4.2, algorithm P).
void Shuffle(uint64_t seed, absl::Span<uint32_t> order) {
  Rng rng(seed);
  for (size_t last = order.size(); last > 1; --last) {
    std::swap(order[last - 1], order[rng.Below(last)]);
  }
}

}  // namespace

std::vector<uint32_t> EpochPermutation(uint64_t seed, uint32_t epoch,
                                       uint32_t size, uint32_t parts) {
  CHECK(parts <= size);
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  const absl::Span<uint32_t> all = absl::MakeSpan(order);
  const uint64_t epoch_seed = DeriveSeed(seed, epoch);
  if (parts == 0) {
    Shuffle(epoch_seed, all);
    return order;
  }
  Shuffle(DeriveSeed(seed, kPartsStream), all);
  for (uint32_t part = 0; part < parts; ++part) {
    const uint32_t begin = PartBegin(size, parts, part);
    const uint32_t end = PartBegin(size, parts, part + 1);
    Shuffle(DeriveSeed(epoch_seed, part), all.subspan(begin, end - begin));
  }
  return order;
}

}  // namespace paceline
