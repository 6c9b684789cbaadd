#include "gpu/divisor.h"

#include <cstdint>

#include "common/rng.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(DivisorTest, DividesAsTheProcessorDoes) {
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    // Of every magnitude.
    const auto d = static_cast<uint32_t>(
        1 + rng.Below(uint64_t{1} << (1 + rng.Below(30))));
    const Divisor divisor(d);
    const auto check = [&](uint32_t n) {
      ASSERT_EQ(divisor.Quotient(n), n / d) << n << " / " << d;
    };
    for (const uint32_t n : {0u, 1u, d - 1, d, uint32_t{INT32_MAX}}) check(n);
    const uint32_t multiple = INT32_MAX / d * d;
    check(multiple);
    check(multiple - 1);
    for (int j = 0; j < 20; ++j) {
      check(
          static_cast<uint32_t>(rng.Below(uint64_t{1} << (1 + rng.Below(30)))));
    }
  }
}

TEST(DivisorTest, TheLargestDivisor) {
  const Divisor divisor(INT32_MAX);
  EXPECT_EQ(divisor.Quotient(INT32_MAX), 1u);
  EXPECT_EQ(divisor.Quotient(INT32_MAX - 1), 0u);
}

}  // namespace
}  // namespace paceline
