#include "common/tensor/square_sum.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "common/rng.h"
#include "common/tensor/payload.h"

namespace paceline {
namespace {

constexpr DType kDTypes[] = {DType::kF32, DType::kBF16, DType::kF16,
                             DType::kInt8};

std::string Encode(DType dtype, const std::vector<float>& values) {
  std::string bytes(EncodedSize(dtype, values.size()), '\0');
  ConvertFromF32(dtype, values.data(), values.size(), bytes.data());
  return bytes;
}

// Of what the bytes stand for.
double Plainly(DType dtype, const std::string& bytes) {
  std::vector<float> values(*EncodedCount(dtype, bytes.size()));
  ConvertToF32(dtype, bytes.data(), values.size(), values.data());
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

std::vector<float> Normal(size_t count, float scale) {
  Rng rng(count);
  std::vector<float> values(count);
  for (float& value : values) {
    value = scale * static_cast<float>(rng.Unit() - 0.5);
  }
  return values;
}

TEST(SquareSumTest, IsThePlainSum) {
  for (const DType dtype : kDTypes) {
    for (const size_t count :
         {0, 1, 7, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 20'000}) {
      // From an odd address.
      const std::string bytes = "x" + Encode(dtype, Normal(count, 0.1f));
      const double plain = Plainly(dtype, bytes.substr(1));
      const auto sum = SquareSum(dtype, bytes.data() + 1, count);
      ASSERT_TRUE(sum.has_value());
      EXPECT_NEAR(*sum, plain, 1e-6 * plain) << DTypeName(dtype) << count;
    }
  }
}

// Their squares are no floats, or no normal ones.
TEST(SquareSumTest, TakesTheSmallestAndTheLargest) {
  for (const float scale : {1e-44f, 1e-38f, 1e-20f, 1e-12f, 1e18f, 3e38f}) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kInt8}) {
      const std::string bytes = Encode(dtype, Normal(9'000, scale));
      const double plain = Plainly(dtype, bytes);
      const auto sum = SquareSum(dtype, bytes.data(), 9'000);
      ASSERT_TRUE(sum.has_value()) << scale;
      EXPECT_NEAR(*sum, plain, 1e-6 * plain) << DTypeName(dtype) << scale;
    }
  }
  EXPECT_EQ(SquareSum(DType::kF32, std::string(40'000, '\0').data(), 10'000),
            0);
}

TEST(SquareSumTest, FindsOneBadElementAnywhere) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const DType dtype : kDTypes) {
    for (const size_t at : {0, 31, 4095, 4096, 4999}) {
      for (const float bad : {kInfinity, -kInfinity, kNan}) {
        std::vector<float> values = Normal(5'000, 1);
        values[at] = bad;
        const std::string bytes = Encode(dtype, values);
        EXPECT_EQ(SquareSum(dtype, bytes.data(), 5'000), std::nullopt)
            << DTypeName(dtype) << at;
      }
    }
  }
}

TEST(SquareSumTest, OfAPayloadWhereverItIsCut) {
  for (const DType dtype : kDTypes) {
    const std::string bytes = Encode(dtype, Normal(700, 1));
    const double plain = Plainly(dtype, bytes);
    for (size_t cut = 0; cut <= bytes.size(); cut += 3) {
      Payload payload(absl::string_view(bytes).substr(0, cut));
      payload.Append(absl::string_view(bytes).substr(cut));
      EXPECT_NEAR(*payload.SquareSum(dtype), plain, 1e-6 * plain);
    }
    std::vector<float> spoilt = Normal(700, 1);
    spoilt[650] = std::numeric_limits<float>::infinity();
    const std::string bad = Encode(dtype, spoilt);
    EXPECT_EQ(Payload(absl::string_view(bad)).SquareSum(dtype), std::nullopt);
  }
}

}  // namespace
}  // namespace paceline
