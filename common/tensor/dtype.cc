#include "common/tensor/dtype.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/check.h"
#include "common/tensor/half.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace paceline {
namespace {

// The wire is little endian, and so is every machine we build for.
static_assert(std::endian::native == std::endian::little);

// Every access goes through memcpy: the bytes are aligned by chance, and the
// compiler turns the copy into an unaligned vector load or store.
template <class T>
T LoadElement(const char* bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

void StoreElement(char* bytes, size_t i, uint16_t value) {
  std::memcpy(bytes + i * sizeof(value), &value, sizeof(value));
}

void F16ToF32(const char* bytes, size_t count, float* out) {
  size_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    const __m128i halves =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 2 * i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(halves));
  }
#endif
  for (; i < count; ++i) out[i] = F32FromF16(LoadElement<uint16_t>(bytes, i));
}

void F32ToF16(const float* values, size_t count, char* bytes) {
  size_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    const __m128i halves =
        _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + 2 * i), halves);
  }
#endif
  for (; i < count; ++i) StoreElement(bytes, i, F16FromF32(values[i]));
}

// An element is finite when its bits without the sign are below those of the
// infinity; the largest of all decides.
template <class Bits>
bool AllBelow(const char* bytes, size_t count, Bits sign, Bits infinity) {
  Bits largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const Bits magnitude = static_cast<Bits>(LoadElement<Bits>(bytes, i) &
                                             static_cast<Bits>(~sign));
    largest = std::max(largest, magnitude);
  }
  return largest < infinity;
}

}  // namespace

absl::string_view DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "fp32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "fp16";
    case DType::kInt8:
      return "int8";
  }
  CHECK(false);
}

void ConvertToF32(DType dtype, const char* bytes, size_t count, float* out) {
  if (count == 0) return;  // memcpy takes no null pointer, even for nothing.
  switch (dtype) {
    case DType::kF32:
      std::memcpy(out, bytes, count * sizeof(float));
      return;
    case DType::kBF16:
      for (size_t i = 0; i < count; ++i) {
        out[i] = F32FromBF16(LoadElement<uint16_t>(bytes, i));
      }
      return;
    case DType::kF16:
      F16ToF32(bytes, count, out);
      return;
    case DType::kInt8:
      DecodeInt8(bytes, count, out);
      return;
  }
  CHECK(false);
}

void ConvertFromF32(DType dtype, const float* values, size_t count,
                    char* bytes) {
  if (count == 0) return;
  switch (dtype) {
    case DType::kF32:
      std::memcpy(bytes, values, count * sizeof(float));
      return;
    case DType::kBF16:
      for (size_t i = 0; i < count; ++i) {
        StoreElement(bytes, i, BF16FromF32(values[i]));
      }
      return;
    case DType::kF16:
      F32ToF16(values, count, bytes);
      return;
    case DType::kInt8:
      EncodeInt8(values, count, bytes);
      return;
  }
  CHECK(false);
}

bool AllFinite(DType dtype, const char* bytes, size_t count) {
  switch (dtype) {
    case DType::kF32:
      return AllBelow<uint32_t>(bytes, count, 0x80000000u, 0x7f800000u);
    case DType::kBF16:
      return AllBelow<uint16_t>(bytes, count, 0x8000, 0x7f80);
    case DType::kF16:
      return AllBelow<uint16_t>(bytes, count, 0x8000, 0x7c00);
    case DType::kInt8:
      return Int8Finite(bytes, count);
  }
  CHECK(false);
}

}  // namespace paceline
