#ifndef PACELINE_COMMON_TENSOR_DTYPE_H_
#define PACELINE_COMMON_TENSOR_DTYPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paceline {

// How the elements of a tensor are written in a message: little endian, one
// after the other. Both ends compute in fp32 whatever is on the wire.
enum class DType : uint8_t {
  kF32,
  kBF16,  // The upper half of an fp32: its range, 8 bits of precision.
  kF16,   // IEEE 754 binary16: 11 bits of precision, at most 65504.
};

// Bytes of one element.
constexpr size_t ElementSize(DType dtype) {
  return dtype == DType::kF32 ? 4 : 2;
}

// "fp32", "bf16", "fp16".
absl::string_view DTypeName(DType dtype);

// What floats are in memory, and so in a message as fp32.
inline absl::string_view BytesOf(absl::Span<const float> floats) {
  return {reinterpret_cast<const char*>(floats.data()),
          floats.size() * sizeof(float)};
}

// Reads `count` elements at `bytes`, which need no alignment, as floats.
// Exact, but that a signalling NaN becomes quiet (half.h).
void ConvertToF32(DType dtype, const char* bytes, size_t count, float* out);

// Writes `count` floats as elements at `bytes`, which need no alignment. Rounds
// to nearest, ties to even; what is too large for fp16 becomes an infinity.
void ConvertFromF32(DType dtype, const float* values, size_t count,
                    char* bytes);

// Whether none of `count` elements is an infinity or a NaN. fp32 takes one
// integer operation per element, so from cache it runs at load speed.
bool AllFinite(DType dtype, const char* bytes, size_t count);

}  // namespace paceline

#endif  // PACELINE_COMMON_TENSOR_DTYPE_H_
