#include "common/tensor/int8_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "common/rng.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::min();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::string Encode(const std::vector<float>& values) {
  std::string bytes(Int8Size(values.size()), '?');
  EncodeInt8(values.data(), values.size(), bytes.data());
  return bytes;
}

std::vector<float> Decode(const std::string& bytes) {
  std::vector<float> values(*Int8Count(bytes.size()));
  DecodeInt8(bytes.data(), values.size(), values.data());
  return values;
}

float ScaleOf(const std::string& bytes, size_t group = 0) {
  float scale;
  std::memcpy(&scale, bytes.data() + group * kInt8GroupBytes, sizeof(scale));
  return scale;
}

std::string Group(float scale, const std::string& integers) {
  std::string bytes(sizeof(scale), '\0');
  std::memcpy(bytes.data(), &scale, sizeof(scale));
  return bytes + integers;
}

// Half a scale, and the roundings of the arithmetic in fp32.
float Bound(float scale) { return scale * 0.50002f; }

TEST(Int8GroupsTest, EverySizeIsThatOfOneCountOrOfNone) {
  size_t count = 0;
  for (size_t bytes = 0; bytes <= 3 * kInt8GroupBytes; ++bytes) {
    if (bytes == Int8Size(count)) {
      EXPECT_EQ(Int8Count(bytes), count++) << bytes;
    } else {
      EXPECT_EQ(Int8Count(bytes), std::nullopt) << bytes;
    }
  }
  EXPECT_EQ(count, 3 * kInt8Group + 1);
}

TEST(Int8GroupsTest, WritesWhatTheFormatSays) {
  // The largest is 127 scales.
  const std::string bytes = Encode({254, -254, 2, -2, 1, 3, 0.9f, -0.0f, 0});
  EXPECT_EQ(ScaleOf(bytes), 2);
  EXPECT_EQ(bytes.substr(4), std::string("\x7f\x81\x01\xff\0\x02\0\0\0", 9))
      << "ties go to the even integer";
  EXPECT_THAT(Decode(bytes), ElementsAre(254, -254, 2, -2, 0, 4, 0, 0, 0));
}

TEST(Int8GroupsTest, GroupsHaveScalesOfTheirOwn) {
  std::vector<float> values(2 * kInt8Group + 1, 127);
  std::fill_n(values.begin() + kInt8Group, kInt8Group, 1270.0f);
  values.back() = 0.127f;
  const std::string bytes = Encode(values);
  EXPECT_EQ(ScaleOf(bytes, 0), 1);
  EXPECT_EQ(ScaleOf(bytes, 1), 10);
  EXPECT_EQ(ScaleOf(bytes, 2), 0.127f / 127);
  EXPECT_EQ(Decode(bytes), values);
}

TEST(Int8GroupsTest, AGroupOfZerosIsExact) {
  for (const float zero : {0.0f, -0.0f}) {
    const std::string bytes = Encode(std::vector<float>(300, zero));
    EXPECT_EQ(bytes, std::string(bytes.size(), '\0'));
    EXPECT_TRUE(Int8Finite(bytes.data(), 300));
    EXPECT_THAT(Decode(bytes), Each(0));
  }
}

TEST(Int8GroupsTest, TheSmallestAndTheLargestStayFinite) {
  struct {
    float value;
    float within;  // Of itself, as it is decoded.
  } const cases[] = {{kDenormal, kLeast / 2},
                     {kLeast / 3, kLeast / 2},
                     {kLeast, 0},
                     {127 * kLeast, 0},
                     {100 * kLeast, 0},
                     {1e-30f, 1e-36f},
                     {1e30f, 1e24f},
                     {kLargest / 128 * 127, kLargest * 1e-6f},
                     {kLargest, kLargest / 127}};
  for (const auto& c : cases) {
    for (const float sign : {1.0f, -1.0f}) {
      const std::string bytes = Encode({sign * c.value, 0});
      ASSERT_TRUE(Int8Finite(bytes.data(), 2)) << c.value;
      const std::vector<float> back = Decode(bytes);
      EXPECT_TRUE(std::isfinite(back[0])) << c.value;
      EXPECT_LE(std::fabs(back[0] - sign * c.value), c.within) << c.value;
      EXPECT_EQ(back[1], 0);
    }
  }
}

TEST(Int8GroupsTest, OneElementThatIsNotFiniteShowsInItsScale) {
  for (const float bad : {kNaN, -kNaN, kInfinity, -kInfinity}) {
    for (const size_t at : {0, 255, 256, 511, 512, 599}) {
      std::vector<float> values(600, 1);
      values[at] = bad;
      const std::string bytes = Encode(values);
      EXPECT_FALSE(Int8Finite(bytes.data(), 600)) << bad << " at " << at;
      for (size_t group = 0; group < 3; ++group) {
        EXPECT_EQ(std::isfinite(ScaleOf(bytes, group)),
                  group != at / kInt8Group);
      }
    }
  }
}

// A peer may write what this encoder never would.
TEST(Int8GroupsTest, WhatAnyoneWroteIsFiniteIfItsScaleSaysSo) {
  const float most = kLargest / 128;
  struct {
    float scale;
    bool finite;
  } const cases[] = {{0, true},
                     {-0.0f, true},
                     {kDenormal, true},
                     {-1, true},
                     {most, true},
                     {-most, true},
                     {std::nextafter(most, kLargest), false},
                     {-kLargest, false},
                     {kInfinity, false},
                     {-kInfinity, false},
                     {kNaN, false}};
  for (const auto& c : cases) {
    const std::string bytes = Group(c.scale, "\x80\x7f");
    EXPECT_EQ(Int8Finite(bytes.data(), 2), c.finite) << c.scale;
    if (!c.finite) continue;
    EXPECT_THAT(Decode(bytes), ElementsAre(c.scale * -128, c.scale * 127));
    EXPECT_TRUE(std::isfinite(c.scale * -128));
  }
  EXPECT_TRUE(Int8Finite(nullptr, 0));
}

// Any length, any magnitudes: from normals through mixtures that differ by 2^40
// to bits at random, what is not finite left out.
std::vector<float> Draw(Rng& rng) {
  std::vector<float> values(rng.Below(700));
  const uint64_t style = rng.Below(4);
  const auto base = static_cast<int>(rng.Below(180)) - 100;
  for (float& value : values) {
    if (style == 3) {
      value = std::bit_cast<float>(static_cast<uint32_t>(rng.Next()));
      if (!std::isfinite(value)) value = 0;
      continue;
    }
    const auto unit = static_cast<float>(2 * rng.Unit() - 1);
    const int spread = style == 0 ? 0 : static_cast<int>(rng.Below(40));
    value =
        style == 2 && rng.Chance(3, 4) ? 0 : std::ldexp(unit, base + spread);
  }
  return values;
}

TEST(Int8GroupsTest, AnErrorIsHalfAScaleAtMost) {
  for (uint64_t seed = 0; seed < SeedCount(25'000); ++seed) {
    Rng rng(seed);
    const std::vector<float> values = Draw(rng);
    const std::string bytes = Encode(values);
    ASSERT_TRUE(Int8Finite(bytes.data(), values.size())) << "seed " << seed;
    const std::vector<float> back = Decode(bytes);
    for (size_t i = 0; i < values.size(); ++i) {
      const float scale = ScaleOf(bytes, i / kInt8Group);
      // The largest floats there are lose more (int8_groups.h).
      const float within = scale == kLargest / 128 ? scale : Bound(scale);
      ASSERT_LE(std::fabs(back[i] - values[i]), within)
          << "seed " << seed << ", element " << i << " of " << values.size();
    }
  }
}

TEST(Int8GroupsTest, WithAResidualItWritesTheSumsAndKeepsTheRest) {
  for (uint64_t seed = 0; seed < SeedCount(10'000); ++seed) {
    Rng rng(seed);
    std::vector<float> values(rng.Below(700));
    std::vector<float> residual(values.size());
    std::vector<float> sums(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(2 * rng.Unit() - 1);
      residual[i] = static_cast<float>(rng.Unit()) / 127;
      sums[i] = values[i] + residual[i];
    }
    std::string bytes(Int8Size(values.size()), '?');
    std::vector<float> left(values.size(), kNaN);
    EncodeInt8(values.data(), residual.data(), values.size(), bytes.data(),
               left.data());
    ASSERT_EQ(bytes, Encode(sums)) << "seed " << seed;
    const std::vector<float> said = Decode(bytes);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(left[i], sums[i] - said[i]) << "seed " << seed;
    }
  }
}

TEST(Int8GroupsTest, OfAGroupThatIsNotFiniteNothingIsLeft) {
  std::vector<float> values(300, 0.3f);
  values[7] = kInfinity;
  const std::vector<float> residual(300, 0.001f);
  std::string bytes(Int8Size(300), '?');
  std::vector<float> left(300, kNaN);
  EncodeInt8(values.data(), residual.data(), 300, bytes.data(), left.data());
  EXPECT_FALSE(Int8Finite(bytes.data(), 300));
  for (size_t i = 0; i < kInt8Group; ++i) EXPECT_EQ(left[i], 0);
  for (const float rest : left) EXPECT_TRUE(std::isfinite(rest));
}

}  // namespace
}  // namespace paceline
