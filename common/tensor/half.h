#ifndef PACELINE_COMMON_TENSOR_HALF_H_
#define PACELINE_COMMON_TENSOR_HALF_H_

#include <bit>
#include <cstdint>

namespace paceline {

// One element of the 16-bit formats to and from float, in portable integer
// arithmetic: the specification of the array conversions in dtype.h, and what
// they use on a machine without an instruction for it. To 16 bits they round
// to nearest, ties to even; infinities stay; a NaN stays one, becomes quiet and
// keeps its sign and the highest bits of its payload.

inline float F32FromBF16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

inline uint16_t BF16FromF32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  // Adds just under half a unit, or half when the kept part is odd; a carry
  // into the exponent is the right answer there too.
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x0040;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(is_nan ? quiet_nan : rounded);
}

inline float F32FromF16(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0x1f) {  // Infinity or NaN.
    const uint32_t quiet = fraction != 0 ? 0x00400000 : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | quiet | (fraction << 13));
  }
  if (exponent == 0) {  // Zero or subnormal: fraction * 2^-24, exactly.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                              (fraction << 13));
}

inline uint16_t F16FromF32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {  // NaN.
    return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  }
  // 65520 is halfway between the largest number and 2^16: it rounds away.
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000) {  // Below 2^-14: subnormal, a unit is 2^-24.
    // Adding 2^-1 leaves a unit of 2^-24 in the last place, so the addition
    // itself rounds, to even under the default rounding mode.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

}  // namespace paceline

#endif  // PACELINE_COMMON_TENSOR_HALF_H_
