#include "common/tensor/square_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/tensor/half.h"
#include "common/tensor/int8_groups.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace paceline {
namespace {

// Elements that are added up as floats, before a double takes the sum.
constexpr size_t kChunk = 4096;

// What the float sums begin with, so that tiny squares leave no subnormal sum,
// which a processor takes a hundred times as long for. Below kLeast a sum is
// made anew as doubles.
constexpr float kFloor = 1e-30f;
constexpr double kLeast = 1e-20;

// Eight floats at a time, in four sums that do not wait for each other.
using Floats = float __attribute__((vector_size(32)));
using Words = uint32_t __attribute__((vector_size(32)));
constexpr size_t kWidth = 8;
constexpr size_t kSums = 4;
constexpr size_t kStep = kWidth * kSums;
using Sums = std::array<Floats, kSums>;

// An array of a type: what AddStep() adds are the squares of the kStep elements
// at `bytes`.
struct OfF32 {
  static constexpr size_t kBytes = 4;
  static void AddStep(const char* bytes, Sums& sums) {
    for (Floats& sum : sums) {
      Floats floats;
      std::memcpy(&floats, bytes, sizeof(floats));
      sum += floats * floats;
      bytes += sizeof(floats);
    }
  }
  static double One(const char* bytes) {
    float value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
};

struct OfBF16 {
  static constexpr size_t kBytes = 2;
  // Two elements a word: each is the upper half of its float.
  static void AddStep(const char* bytes, Sums& sums) {
    for (size_t i = 0; i < kSums; i += 2) {
      Words words;
      std::memcpy(&words, bytes, sizeof(words));
      const auto low = std::bit_cast<Floats>(words << 16);
      const auto high = std::bit_cast<Floats>(words & 0xffff0000u);
      sums[i] += low * low;
      sums[i + 1] += high * high;
      bytes += sizeof(words);
    }
  }
  static double One(const char* bytes) {
    uint16_t half;
    std::memcpy(&half, bytes, sizeof(half));
    return std::bit_cast<float>(uint32_t{half} << 16);
  }
};

struct OfF16 {
  static constexpr size_t kBytes = 2;
  static void AddStep(const char* bytes, Sums& sums) {
    for (Floats& sum : sums) {
      Floats floats;
      ReadEight(bytes, floats);
      sum += floats * floats;
      bytes += kWidth * kBytes;
    }
  }
  static double One(const char* bytes) {
    uint16_t half;
    std::memcpy(&half, bytes, sizeof(half));
    return F32FromF16(half);
  }

 private:
  static void ReadEight(const char* bytes, Floats& floats) {
#ifdef __F16C__
    floats = _mm256_cvtph_ps(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#else
    for (size_t i = 0; i < kWidth; ++i) {
      floats[i] = static_cast<float>(One(bytes + i * kBytes));
    }
#endif
  }
};

// Not finite if an element is not.
template <class Of>
double Exactly(const char* bytes, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const double value = Of::One(bytes + i * Of::kBytes);
    sum += value * value;
  }
  return sum;
}

// The same, faster.
template <class Of>
double OfChunk(const char* bytes, size_t count) {
  Sums sums;
  for (Floats& eight : sums) eight = Floats{} + kFloor;
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    Of::AddStep(bytes + i * Of::kBytes, sums);
  }
  double sum = -static_cast<double>(kFloor) * kStep;
  for (const Floats& eight : sums) {
    for (size_t j = 0; j < kWidth; ++j) sum += static_cast<double>(eight[j]);
  }
  // What finite floats have too large squares for, or too small ones.
  if (!(sum >= kLeast && std::isfinite(sum))) {
    return Exactly<Of>(bytes, count);
  }
  return sum + Exactly<Of>(bytes + i * Of::kBytes, count - i);
}

template <class Of>
double OfArray(const char* bytes, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i += kChunk) {
    sum += OfChunk<Of>(bytes + i * Of::kBytes, std::min(kChunk, count - i));
  }
  return sum;
}

double SumOf(DType dtype, const char* bytes, size_t count) {
  switch (dtype) {
    case DType::kF32:
      return OfArray<OfF32>(bytes, count);
    case DType::kBF16:
      return OfArray<OfBF16>(bytes, count);
    case DType::kF16:
      return OfArray<OfF16>(bytes, count);
    case DType::kInt8:
      return Int8SquareSum(bytes, count);
  }
  return 0;
}

}  // namespace

std::optional<double> SquareSum(DType dtype, const char* bytes, size_t count) {
  const double sum = SumOf(dtype, bytes, count);
  if (!std::isfinite(sum)) return std::nullopt;
  return sum;
}

}  // namespace paceline
