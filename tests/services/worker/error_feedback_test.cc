#include "services/worker/error_feedback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "common/rng.h"
#include "common/tensor/dtype.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

using testing::Each;
using testing::IsEmpty;

std::vector<float> Draw(Rng& rng, size_t size, float most = 1) {
  std::vector<float> gradient(size);
  for (float& g : gradient) {
    g = most * static_cast<float>(2 * rng.Unit() - 1);
  }
  return gradient;
}

std::vector<float> Decode(absl::string_view bytes) {
  std::vector<float> values(*EncodedCount(DType::kInt8, bytes.size()));
  ConvertToF32(DType::kInt8, bytes.data(), values.size(), values.data());
  return values;
}

std::vector<float> Residual(const ErrorFeedback& feedback, uint32_t block) {
  const absl::Span<const float> residual = feedback.residual(block);
  return {residual.begin(), residual.end()};
}

class ErrorFeedbackTest : public ::testing::Test {
 protected:
  // The bytes of a push that is taken, unless the block is refused.
  std::string Push(const std::vector<float>& gradient, bool refused = false) {
    feedback_.BeginPush();
    std::string bytes(feedback_.Encode(7, gradient));
    if (refused) {
      feedback_.Taken({7, 9});
    } else {
      feedback_.Taken({9});
    }
    return bytes;
  }

  Rng rng_{3};
  ErrorFeedback feedback_;
};

TEST_F(ErrorFeedbackTest, TheFirstPushIsTheGradient) {
  const std::vector<float> gradient = Draw(rng_, 300);
  EXPECT_THAT(feedback_.residual(7), IsEmpty());
  std::string bytes(EncodedSize(DType::kInt8, 300), '\0');
  ConvertFromF32(DType::kInt8, gradient.data(), 300, bytes.data());
  EXPECT_EQ(Push(gradient), bytes);
}

TEST_F(ErrorFeedbackTest, WhatAPushLacksIsPartOfTheNext) {
  const std::vector<float> gradient = Draw(rng_, 300);
  const std::vector<float> said = Decode(Push(gradient));
  std::vector<float> lacked;
  for (size_t i = 0; i < 300; ++i) lacked.push_back(gradient[i] - said[i]);
  EXPECT_EQ(Residual(feedback_, 7), lacked);
  // Nothing but that is left to say.
  const std::vector<float> more = Decode(Push(std::vector<float>(300)));
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_NEAR(said[i] + more[i], gradient[i], 1.0f / 127 / 127);
  }
}

// Too small to show beside the largest: without a memory it would never move.
TEST_F(ErrorFeedbackTest, ASmallGradientCountsInTheEnd) {
  std::vector<float> gradient(256, 0.001f);
  gradient[0] = 1;
  double said = 0;
  for (int i = 0; i < 1000; ++i) said += Decode(Push(gradient))[1];
  EXPECT_NEAR(said, 1, 0.004);
}

TEST_F(ErrorFeedbackTest, ARefusedBlockKeepsItsResidual) {
  Push(Draw(rng_, 300));
  const std::vector<float> before = Residual(feedback_, 7);
  Push(Draw(rng_, 300), /*refused=*/true);
  EXPECT_EQ(Residual(feedback_, 7), before);
  std::vector<float> spoilt = Draw(rng_, 300);
  spoilt[5] = std::numeric_limits<float>::quiet_NaN();
  Push(spoilt, /*refused=*/true);
  EXPECT_EQ(Residual(feedback_, 7), before);
}

TEST_F(ErrorFeedbackTest, SoDoesABlockWhosePushNobodyAcknowledged) {
  Push(Draw(rng_, 300));
  const std::vector<float> before = Residual(feedback_, 7);
  feedback_.BeginPush();
  feedback_.Encode(7, Draw(rng_, 300));
  EXPECT_EQ(Residual(feedback_, 7), before);
  // The next one is taken, and that is what counts.
  feedback_.BeginPush();
  feedback_.Encode(8, Draw(rng_, 10));
  feedback_.Taken({});
  EXPECT_EQ(Residual(feedback_, 7), before);
}

TEST_F(ErrorFeedbackTest, AnAcknowledgementCountsOnce) {
  Push(Draw(rng_, 300));
  const std::vector<float> after = Residual(feedback_, 7);
  feedback_.Taken({});
  EXPECT_EQ(Residual(feedback_, 7), after);
}

TEST_F(ErrorFeedbackTest, AZeroGradientOfAnExactBlockStaysZero) {
  EXPECT_THAT(Decode(Push(std::vector<float>(40))), Each(0));
  EXPECT_THAT(Residual(feedback_, 7), Each(0));
}

// Whatever is refused or lost: what the servers were told of the pushes that
// they took is those pushes' gradients, but for what is left.
TEST(ErrorFeedbackPropertyTest, WhatWasSaidAddsUpToTheGradients) {
  for (uint64_t seed = 0; seed < SeedCount(2'500); ++seed) {
    Rng rng(seed);
    ErrorFeedback feedback;
    std::map<uint32_t, std::vector<double>> wanted;
    std::map<uint32_t, std::vector<double>> said;
    std::map<uint32_t, size_t> sizes;
    for (uint32_t block = 0; block < 3; ++block) {
      sizes[block] = 1 + rng.Below(600);
      wanted[block].resize(sizes[block]);
      said[block].resize(sizes[block]);
    }
    for (int push = 0; push < 20; ++push) {
      feedback.BeginPush();
      const bool lost = rng.Chance(1, 8);
      std::vector<uint32_t> refused;
      const float most = std::ldexp(1.0f, static_cast<int>(rng.Below(8)) - 4);
      for (const auto& [block, size] : sizes) {
        const std::vector<float> gradient = Draw(rng, size, most);
        const std::vector<float> told =
            Decode(feedback.Encode(block, gradient));
        if (rng.Chance(1, 8)) refused.push_back(block);
        if (lost || (!refused.empty() && refused.back() == block)) continue;
        for (size_t i = 0; i < size; ++i) {
          wanted[block][i] += gradient[i];
          said[block][i] += told[i];
        }
      }
      if (!lost) feedback.Taken(refused);
    }
    for (const auto& [block, size] : sizes) {
      const absl::Span<const float> left = feedback.residual(block);
      for (size_t i = 0; i < size; ++i) {
        ASSERT_NEAR(said[block][i] + left[i], wanted[block][i], 2e-5)
            << "seed " << seed << ", block " << block << ", element " << i;
        ASSERT_LE(std::fabs(left[i]), 8.1f / 127 / 2);
      }
    }
  }
}

}  // namespace
}  // namespace paceline
