#ifndef PACELINE_COMMON_TENSOR_INT8_GROUPS_H_
#define PACELINE_COMMON_TENSOR_INT8_GROUPS_H_

#include <cstddef>
#include <optional>

namespace paceline {

// An array of floats in about a byte each: groups of 256, the last of which may
// be shorter, each an fp32 scale and then an int8 for every float. A float is
// its int8 times the scale. Little endian, unaligned; an array begins with a
// group of its own.
//
// The scale is a 127th of the group's largest magnitude, so that the error of
// an element is half a scale at most. Two bounds keep the arithmetic exact
// enough: a scale that is not zero is a normal float, and its 128-fold is
// finite, for which the largest floats there are lose up to a whole scale. A
// group in which something is not finite has a NaN for a scale, so a glance at
// the scales finds it.

constexpr size_t kInt8Group = 256;
constexpr size_t kInt8GroupBytes = sizeof(float) + kInt8Group;

// Bytes of `count` floats.
constexpr size_t Int8Size(size_t count) {
  return count + (count + kInt8Group - 1) / kInt8Group * sizeof(float);
}

// The reverse; nothing if no array has that size.
constexpr std::optional<size_t> Int8Count(size_t bytes) {
  const size_t groups = (bytes + kInt8GroupBytes - 1) / kInt8GroupBytes;
  if (bytes <= groups * sizeof(float) && bytes > 0) return std::nullopt;
  const size_t count = bytes - groups * sizeof(float);
  if (Int8Size(count) != bytes) return std::nullopt;
  return count;
}

// Reads `count` floats from Int8Size(count) bytes.
void DecodeInt8(const char* bytes, size_t count, float* out);

// Writes `count` floats to Int8Size(count) bytes.
void EncodeInt8(const float* values, size_t count, char* bytes);

// Writes the sums of `values` and `residual` likewise, and to `left` what the
// bytes say too little: in a group that is not finite, nothing. The arrays do
// not overlap.
void EncodeInt8(const float* values, const float* residual, size_t count,
                char* bytes, float* left);

// Whether all that the bytes of `count` floats stand for is finite, whatever
// wrote them.
bool Int8Finite(const char* bytes, size_t count);

// The sum of the squares of all that the bytes of `count` floats stand for; an
// infinity where Int8Finite() says no.
double Int8SquareSum(const char* bytes, size_t count);

}  // namespace paceline

#endif  // PACELINE_COMMON_TENSOR_INT8_GROUPS_H_
