#ifndef PACELINE_COMMON_TENSOR_DTYPE_H_
#define PACELINE_COMMON_TENSOR_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/tensor/int8_groups.h"

namespace paceline {

// How the elements of a tensor are written in a message: little endian, one
// after the other. Both ends compute in fp32 whatever is on the wire.
enum class DType : uint8_t {
  kF32,
  kBF16,  // The upper half of an fp32: its range, 8 bits of precision.
  kF16,   // IEEE 754 binary16: 11 bits of precision, at most 65504.
  kInt8,  // Integers with a scale for each group of them (int8_groups.h).
};

// What an array of a type is made of, one behind the other: an element, or a
// group of kInt8, of which the last may be shorter.
struct DTypeUnit {
  size_t elements = 1;
  size_t bytes = 4;
};
constexpr DTypeUnit UnitOf(DType dtype) {
  if (dtype == DType::kInt8) return {kInt8Group, kInt8GroupBytes};
  return {1, dtype == DType::kF32 ? size_t{4} : size_t{2}};
}
constexpr size_t kLargestUnit = kInt8GroupBytes;

// Bytes of an array of `count` elements.
constexpr size_t EncodedSize(DType dtype, size_t count) {
  if (dtype == DType::kInt8) return Int8Size(count);
  return count * UnitOf(dtype).bytes;
}

// The reverse; nothing if no array has that size.
constexpr std::optional<size_t> EncodedCount(DType dtype, size_t bytes) {
  if (dtype == DType::kInt8) return Int8Count(bytes);
  if (bytes % UnitOf(dtype).bytes != 0) return std::nullopt;
  return bytes / UnitOf(dtype).bytes;
}

// "fp32", "bf16", "fp16", "int8".
absl::string_view DTypeName(DType dtype);

// What floats are in memory, and so in a message as fp32.
inline absl::string_view BytesOf(absl::Span<const float> floats) {
  return {reinterpret_cast<const char*>(floats.data()),
          floats.size() * sizeof(float)};
}

// Reads an array of `count` elements at `bytes`, which need no alignment, as
// floats.
// Exact, but that a signalling NaN becomes quiet (half.h).
void ConvertToF32(DType dtype, const char* bytes, size_t count, float* out);

// Writes `count` floats as an array at `bytes`, which need no alignment. Rounds
// to nearest, ties to even; what is too large for fp16 becomes an infinity.
void ConvertFromF32(DType dtype, const float* values, size_t count,
                    char* bytes);

// Whether no element of an array of `count` is an infinity or a NaN. fp32 takes
// one integer operation per element, so from cache it runs at load speed.
bool AllFinite(DType dtype, const char* bytes, size_t count);

}  // namespace paceline

#endif  // PACELINE_COMMON_TENSOR_DTYPE_H_
