#ifndef PACELINE_COMMON_RNG_H_
#define PACELINE_COMMON_RNG_H_

#include <cstdint>

#include "common/check.h"

namespace paceline {

// A seeded integer generator whose sequence never changes with a library or a
// compiler, unlike the standard distributions: SplitMix64 (Steele, Lea and
// Flood, OOPSLA 2014, section 3). Thread-compatible.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  // All 64 bits are uniform.
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound), without bias.  REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) {
    CHECK(bound > 0);
    // The lowest 2^64 mod bound values would make small results more likely.
    const uint64_t reject_below = (0 - bound) % bound;
    uint64_t draw = Next();
    while (draw < reject_below) draw = Next();
    return draw % bound;
  }

  // True with probability numerator / denominator.
  bool Chance(uint64_t numerator, uint64_t denominator) {
    return Below(denominator) < numerator;
  }

  // Uniform in [0, 1), for data and weights; decisions use integers.
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

// A seed for stream `stream` of the run seeded with `seed`: neighbouring
// numbers give unrelated sequences.
inline uint64_t DeriveSeed(uint64_t seed, uint64_t stream) {
  Rng mix(seed ^ Rng(stream).Next());
  return mix.Next();
}

}  // namespace paceline

#endif  // PACELINE_COMMON_RNG_H_
