#ifndef PACELINE_GPU_DIVISOR_H_
#define PACELINE_GPU_DIVISOR_H_

#include <bit>
#include <cstdint>

#include "common/check.h"

namespace paceline {

// Divides by a number that is known when a kernel is launched: a multiplication
// and a shift, where a GPU takes some twenty instructions for a division of 32
// bits and over seventy for one of 64. Granlund and Montgomery, "Division by
// Invariant Integers using Multiplication", 1994, figure 4.1.
class Divisor {
 public:
  // REQUIRES: 0 < divisor < 2^31.
  explicit Divisor(int64_t divisor) {
    CHECK(divisor > 0 && divisor <= INT32_MAX);
    const auto d = static_cast<uint32_t>(divisor);
    shift_ = std::bit_width(d - 1);
    factor_ =
        static_cast<uint32_t>((((uint64_t{1} << shift_) - d) << 32) / d + 1);
  }

  // n / divisor.  REQUIRES: n < 2^31.
  constexpr uint32_t Quotient(uint32_t n) const {
    const auto high = static_cast<uint32_t>((uint64_t{n} * factor_) >> 32);
    return (high + n) >> shift_;
  }

 private:
  uint32_t factor_;
  int shift_;
};

}  // namespace paceline

#endif  // PACELINE_GPU_DIVISOR_H_
