#include "common/tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "common/rng.h"
#include "common/tensor/half.h"

namespace paceline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

std::vector<float> ReadAll(DType dtype, const std::string& bytes) {
  std::vector<float> values(*EncodedCount(dtype, bytes.size()));
  ConvertToF32(dtype, bytes.data(), values.size(), values.data());
  return values;
}

std::string WriteAll(DType dtype, const std::vector<float>& values) {
  std::string bytes(EncodedSize(dtype, values.size()), '\0');
  ConvertFromF32(dtype, values.data(), values.size(), bytes.data());
  return bytes;
}

// The 16 bits of one value, through the array conversion.
uint16_t Narrow(DType dtype, float value) {
  uint16_t bits;
  std::memcpy(&bits, WriteAll(dtype, {value}).data(), sizeof(bits));
  return bits;
}

// All 65536 elements of a 16-bit format.
std::string EveryElement() {
  std::string bytes;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    bytes.push_back(static_cast<char>(bits & 0xff));
    bytes.push_back(static_cast<char>(bits >> 8));
  }
  return bytes;
}

TEST(DTypeTest, NamesAndSizesOfArrays) {
  EXPECT_EQ(DTypeName(DType::kBF16), "bf16");
  EXPECT_EQ(DTypeName(DType::kInt8), "int8");
  struct {
    DType dtype;
    size_t count;
    size_t bytes;
  } cases[] = {{DType::kF32, 3, 12},     {DType::kBF16, 3, 6},
               {DType::kF16, 3, 6},      {DType::kInt8, 0, 0},
               {DType::kInt8, 1, 5},     {DType::kInt8, 256, 260},
               {DType::kInt8, 257, 265}, {DType::kInt8, 512, 520},
               {DType::kInt8, 513, 525}};
  for (const auto& c : cases) {
    EXPECT_EQ(EncodedSize(c.dtype, c.count), c.bytes);
    EXPECT_EQ(EncodedCount(c.dtype, c.bytes), c.count);
  }
  for (const size_t bytes : {1, 2, 3, 5, 7}) {
    EXPECT_EQ(EncodedCount(DType::kF32, bytes), std::nullopt) << bytes;
  }
  for (const size_t bytes : {1, 4, 261, 264, 521, 524}) {
    EXPECT_EQ(EncodedCount(DType::kInt8, bytes), std::nullopt) << bytes;
  }
}

TEST(DTypeTest, EveryHalfComesBackAndMatchesThePortableConversion) {
  const std::string bytes = EveryElement();
  const std::vector<float> values = ReadAll(DType::kF16, bytes);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    ASSERT_EQ(Bits(values[bits]), Bits(F32FromF16(half))) << bits;
    ASSERT_EQ(Narrow(DType::kF16, values[bits]), F16FromF32(values[bits]));
    if (!std::isnan(values[bits])) {
      ASSERT_EQ(F16FromF32(values[bits]), half) << bits;
    }
  }
  EXPECT_EQ(WriteAll(DType::kF16, values).size(), bytes.size());
}

TEST(DTypeTest, EveryBF16ComesBack) {
  const std::vector<float> values = ReadAll(DType::kBF16, EveryElement());
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    ASSERT_EQ(Bits(values[bits]), bits << 16);
    if (!std::isnan(values[bits])) {
      ASSERT_EQ(Narrow(DType::kBF16, values[bits]), bits);
    }
  }
}

// The array conversion (vector instructions where there are any) and the
// portable one agree on arbitrary bit patterns.
TEST(DTypeTest, VectorAndPortableHalvesAgreeOnRandomBits) {
  Rng rng(1);
  std::vector<float> values(10007);
  for (float& value : values) {
    value = std::bit_cast<float>(static_cast<uint32_t>(rng.Next()));
  }
  const std::string bytes = WriteAll(DType::kF16, values);
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, bytes.data() + 2 * i, sizeof(half));
    ASSERT_EQ(half, F16FromF32(values[i])) << Bits(values[i]);
  }
}

// Halfway cases and their neighbours, for both formats.
TEST(DTypeTest, RoundsToNearestEven) {
  struct Case {
    DType dtype;
    float value;
    uint16_t want;
  };
  const float ulp = 0x1p-10f;  // Of fp16 at 1.
  const Case kCases[] = {
      {DType::kF16, 1.0f, 0x3c00},
      {DType::kF16, 1.0f + ulp / 2, 0x3c00},
      {DType::kF16, std::nextafter(1.0f + ulp / 2, 2.0f), 0x3c01},
      {DType::kF16, 1.0f + ulp * 3 / 2, 0x3c02},
      {DType::kF16, 65504.0f, 0x7bff},
      {DType::kF16, 65519.996f, 0x7bff},
      {DType::kF16, 65520.0f, 0x7c00},
      {DType::kF16, -1e30f, 0xfc00},
      {DType::kF16, 0x1p-24f, 0x0001},
      {DType::kF16, 0x1p-25f, 0x0000},
      {DType::kF16, 0x1.000002p-25f, 0x0001},
      {DType::kF16, 0x1.8p-24f, 0x0002},
      {DType::kF16, -0.0f, 0x8000},
      {DType::kF16, 0x1.ffcp-15f, 0x0400},
      {DType::kBF16, 1.0f, 0x3f80},
      {DType::kBF16, 1.0f + 0x1p-8f, 0x3f80},
      {DType::kBF16, std::nextafter(1.0f + 0x1p-8f, 2.0f), 0x3f81},
      {DType::kBF16, 1.0f + 0x1.8p-7f, 0x3f82},
      {DType::kBF16, std::numeric_limits<float>::max(), 0x7f80},
      {DType::kBF16, -0.0f, 0x8000},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Narrow(c.dtype, c.value), c.want)
        << DTypeName(c.dtype) << " of " << c.value;
  }
}

TEST(DTypeTest, KeepsInfinitiesAndNaNs) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const std::vector<float> back = ReadAll(
        dtype,
        WriteAll(dtype, {kInfinity, -kInfinity, std::nanf(""), -std::nanf(""),
                         // A NaN whose payload is all in the low bits.
                         std::bit_cast<float>(0x7f800001u)}));
    EXPECT_EQ(back[0], kInfinity);
    EXPECT_EQ(back[1], -kInfinity);
    EXPECT_TRUE(std::isnan(back[2]) && !std::signbit(back[2]));
    EXPECT_TRUE(std::isnan(back[3]) && std::signbit(back[3]));
    EXPECT_TRUE(std::isnan(back[4]));
  }
}

TEST(DTypeTest, SmallIntegersAreExactInEveryFormat) {
  std::vector<float> values;
  for (int i = -256; i <= 256; ++i) values.push_back(static_cast<float>(i));
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    EXPECT_EQ(ReadAll(dtype, WriteAll(dtype, values)), values);
  }
}

TEST(DTypeTest, AllFiniteFindsOneBadElementAnywhere) {
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kInt8}) {
    for (size_t count : {1, 7, 8, 31, 64, 100}) {
      std::vector<float> values(count, -65504.0f);
      values[0] = 0;
      const std::string good = WriteAll(dtype, values);
      EXPECT_TRUE(AllFinite(dtype, good.data(), count));
      for (size_t i = 0; i < count; ++i) {
        for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
          std::vector<float> spoilt = values;
          spoilt[i] = bad;
          // One byte further than any alignment.
          const std::string bytes = "x" + WriteAll(dtype, spoilt);
          ASSERT_FALSE(AllFinite(dtype, bytes.data() + 1, count)) << i;
        }
      }
    }
    EXPECT_TRUE(AllFinite(dtype, nullptr, 0));
  }
  const float largest = std::numeric_limits<float>::max();
  EXPECT_TRUE(
      AllFinite(DType::kF32, reinterpret_cast<const char*>(&largest), 1));
}

}  // namespace
}  // namespace paceline
