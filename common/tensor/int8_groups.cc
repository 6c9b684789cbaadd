#include "common/tensor/int8_groups.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace paceline {
namespace {

constexpr float kLeastScale = std::numeric_limits<float>::min();
constexpr float kMostScale = std::numeric_limits<float>::max() / 128;

// Added to a float of a magnitude below 2^22, leaves it rounded to a whole
// number, ties to even, in the lowest bits.
constexpr float kRounder = 0x1.8p23f;

using Group = std::array<float, kInt8Group>;

// The magnitude of the largest, as bits: their order is the floats', and a NaN
// is above them all.
uint32_t LargestBits(const float* values, size_t count) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    largest =
        std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffu);
  }
  return largest;
}

float ScaleOf(uint32_t largest) {
  if (largest >= 0x7f800000u) return std::numeric_limits<float>::quiet_NaN();
  if (largest == 0) return 0;
  return std::clamp(std::bit_cast<float>(largest) / 127, kLeastScale,
                    kMostScale);
}

// Writes one group, and leaves in `values` the integers that it wrote; the
// scale.
float WriteGroup(Group& values, size_t count, char* bytes) {
  const float scale = ScaleOf(LargestBits(values.data(), count));
  std::memcpy(bytes, &scale, sizeof(scale));
  bytes += sizeof(scale);
  if (!(scale > 0)) {
    std::memset(bytes, 0, count);
    return scale;
  }
  const float inverse = 1 / scale;
  for (size_t i = 0; i < count; ++i) {
    const float whole = (values[i] * inverse + kRounder) - kRounder;
    // Where kMostScale was too little it is 128.
    values[i] = static_cast<float>(
        std::min(std::max(static_cast<int>(whole), -127), 127));
  }
  for (size_t i = 0; i < count; ++i) {
    bytes[i] =
        static_cast<char>(static_cast<int8_t>(static_cast<int>(values[i])));
  }
  return scale;
}

// Calls visit(first, count, bytes) with each group.
template <class Bytes, class Visitor>
void ForEachGroup(size_t count, Bytes* bytes, Visitor visit) {
  for (size_t first = 0; first < count; first += kInt8Group) {
    visit(first, std::min(kInt8Group, count - first), bytes);
    bytes += kInt8GroupBytes;
  }
}

float ScaleAt(const char* bytes) {
  float scale;
  std::memcpy(&scale, bytes, sizeof(scale));
  return scale;
}

// Whether whatever a group of that scale stands for is.
bool IsFinite(float scale) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(scale) & 0x7fffffffu;
  return magnitude <= std::bit_cast<uint32_t>(kMostScale);
}

// Of a group's integers; at most 2^22. Two squares of them fit into 16 bits.
int32_t SquaresOf(const char* integers, size_t count) {
  using Pairs = int16_t __attribute__((vector_size(32)));
  using Halves = uint16_t __attribute__((vector_size(32)));
  using Words = uint32_t __attribute__((vector_size(32)));
  Words low_sums = {};
  Words high_sums = {};
  size_t i = 0;
  for (; i + sizeof(Pairs) <= count; i += sizeof(Pairs)) {
    Pairs pairs;
    std::memcpy(&pairs, integers + i, sizeof(pairs));
    const auto high = reinterpret_cast<Halves>(pairs >> 8);
    const auto low = reinterpret_cast<Halves>((pairs << 8) >> 8);
    const auto squares = reinterpret_cast<Words>(high * high + low * low);
    low_sums += squares & 0xffffu;
    high_sums += squares >> 16;
  }
  int32_t sum = 0;
  for (size_t j = 0; j < 8; ++j) {
    sum += static_cast<int32_t>(low_sums[j] + high_sums[j]);
  }
  for (; i < count; ++i) {
    const int32_t integer = static_cast<int8_t>(integers[i]);
    sum += integer * integer;
  }
  return sum;
}

}  // namespace

void DecodeInt8(const char* bytes, size_t count, float* out) {
  ForEachGroup(count, bytes, [out](size_t first, size_t n, const char* group) {
    const float scale = ScaleAt(group);
    const char* const integers = group + sizeof(scale);
    for (size_t i = 0; i < n; ++i) {
      out[first + i] =
          scale * static_cast<float>(static_cast<int8_t>(integers[i]));
    }
  });
}

void EncodeInt8(const float* values, size_t count, char* bytes) {
  alignas(64) Group sums;
  ForEachGroup(count, bytes, [&](size_t first, size_t n, char* group) {
    std::copy_n(values + first, n, sums.data());
    WriteGroup(sums, n, group);
  });
}

void EncodeInt8(const float* values, const float* residual, size_t count,
                char* bytes, float* left) {
  alignas(64) Group sums;
  ForEachGroup(count, bytes, [&](size_t first, size_t n, char* group) {
    float* const rest = left + first;
    for (size_t i = 0; i < n; ++i) {
      sums[i] = values[first + i] + residual[first + i];
      rest[i] = sums[i];
    }
    const float scale = WriteGroup(sums, n, group);
    if (scale > 0) {
      for (size_t i = 0; i < n; ++i) rest[i] -= scale * sums[i];
    } else {
      std::fill_n(rest, n, 0.0f);
    }
  });
}

bool Int8Finite(const char* bytes, size_t count) {
  bool finite = true;
  ForEachGroup(count, bytes, [&](size_t, size_t, const char* group) {
    finite = finite && IsFinite(ScaleAt(group));
  });
  return finite;
}

double Int8SquareSum(const char* bytes, size_t count) {
  bool finite = true;
  double sum = 0;
  ForEachGroup(count, bytes, [&](size_t, size_t n, const char* group) {
    const float scale = ScaleAt(group);
    finite = finite && IsFinite(scale);
    sum += double{scale} * double{scale} * SquaresOf(group + sizeof(scale), n);
  });
  return finite ? sum : std::numeric_limits<double>::infinity();
}

}  // namespace paceline
