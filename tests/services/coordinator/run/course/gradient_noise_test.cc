#include "services/coordinator/run/course/gradient_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "common/rng.h"

namespace paceline {
namespace {

struct Estimate {
  const char* name;
  std::vector<MeasuredGradient> gradients;
  double mean_square;
  double square;
  double variance;
};

TEST(EstimateNoiseTest, OfGivenGradients) {
  // In one dimension, so that the gradients are numbers.
  const Estimate cases[] = {
      {"1 and 1: no noise", {{8, 1}, {8, 1}}, 1, 1, 0},
      {"1 and 3 of one sample each", {{1, 1}, {1, 9}}, 4, 3, 2},
      {"the same of batches of 8", {{8, 1}, {8, 9}}, 4, 3, 16},
      // The mean is 1.5: b (g - mean)^2 is 0.75 and 2.25.
      {"1 of 3 samples, 3 of one", {{3, 1}, {1, 9}}, 2.25, 1.5, 3},
      // -1 and 1: all of it is noise, and more than that.
      {"opposite ones", {{4, 1}, {4, 1}}, 0, -1, 8},
      {"three of them", {{1, 0}, {1, 1}, {2, 4}}, 1.5625, 1.21875, 1.375},
  };
  for (const Estimate& of : cases) {
    const auto noise = EstimateNoise(of.gradients, of.mean_square);
    ASSERT_TRUE(noise.has_value()) << of.name;
    EXPECT_NEAR(noise->variance, of.variance, 1e-6) << of.name;
    EXPECT_NEAR(noise->square, of.square, 1e-6) << of.name;
  }
}

TEST(EstimateNoiseTest, NothingComesOfOneGradientOrOfNoSamples) {
  EXPECT_EQ(EstimateNoise({}, 1), std::nullopt);
  EXPECT_EQ(EstimateNoise({{8, 1}}, 1), std::nullopt);
  EXPECT_EQ(EstimateNoise({{8, 1}, {0, 1}}, 1), std::nullopt);
  EXPECT_EQ(EstimateNoise({{8, 1}, {8, INFINITY}}, 1), std::nullopt);
}

double Normal(Rng& rng) {
  return std::sqrt(-2 * std::log(1 - rng.Unit())) *
         std::cos(2 * M_PI * rng.Unit());
}

// An update of batches of these sizes: gradients of 10 dimensions, each of them
// 0.2 on average, and 1 the variance of one sample's.
constexpr int kDimensions = 10;
constexpr double kMean = 0.2;

struct DrawnUpdate {
  std::vector<MeasuredGradient> gradients;
  double mean_square = 0;
};

DrawnUpdate Draw(Rng& rng, const std::vector<double>& batches) {
  DrawnUpdate update;
  std::vector<double> sum(kDimensions);
  double samples = 0;
  for (const double batch : batches) {
    MeasuredGradient gradient{.samples = batch};
    for (double& element : sum) {
      const double g = kMean + Normal(rng) / std::sqrt(batch);
      gradient.square += g * g;
      element += batch * g;
    }
    samples += batch;
    update.gradients.push_back(gradient);
  }
  for (const double element : sum) {
    update.mean_square += element * element / samples / samples;
  }
  return update;
}

// Cannikin's weights for two gradients: A is diagonal then.
double CannikinOfTwo(const DrawnUpdate& update) {
  const MeasuredGradient& a = update.gradients[0];
  const MeasuredGradient& b = update.gradients[1];
  const double of_a = b.samples / a.samples;
  const double of_b = a.samples / b.samples;
  const double all = a.samples + b.samples;
  const double s_a =
      a.samples * all / b.samples * (a.square - update.mean_square);
  const double s_b =
      b.samples * all / a.samples * (b.square - update.mean_square);
  return (of_a * s_a + of_b * s_b) / (of_a + of_b);
}

TEST(EstimateNoiseTest, HasNoBiasHoweverUnequalTheBatches) {
  constexpr int kUpdates = 20'000;
  for (const std::vector<double>& batches :
       {std::vector<double>{4, 4}, {1, 15}, {2, 3, 50}, {8, 8, 8, 2, 1}}) {
    double square = 0;
    double variance = 0;
    double squared = 0;  // Of the estimates of the variance.
    for (uint64_t seed = 1; seed <= kUpdates; ++seed) {
      Rng rng(seed);
      const DrawnUpdate update = Draw(rng, batches);
      const auto noise = EstimateNoise(update.gradients, update.mean_square);
      square += noise->square / kUpdates;
      variance += noise->variance / kUpdates;
      squared += noise->variance * noise->variance / kUpdates;
    }
    // Four standard errors.
    const double error =
        4 * std::sqrt((squared - variance * variance) / kUpdates);
    EXPECT_NEAR(variance, kDimensions, error) << batches.size();
    EXPECT_LT(error, 0.02 * kDimensions);
    EXPECT_NEAR(square, kDimensions * kMean * kMean, 0.02) << batches.size();
  }
}

TEST(EstimateNoiseTest, ScattersLessThanWithCannikinsWeights) {
  double ours = 0;
  double cannikins = 0;
  for (uint64_t seed = 1; seed <= 5'000; ++seed) {
    Rng rng(seed);
    const DrawnUpdate update = Draw(rng, {4, 28});
    const double of =
        EstimateNoise(update.gradients, update.mean_square)->variance;
    ours += (of - kDimensions) * (of - kDimensions);
    const double other = CannikinOfTwo(update) - kDimensions;
    cannikins += other * other;
  }
  EXPECT_LT(ours, 0.9 * cannikins);
}

TEST(SmoothedNoiseTest, SaysNothingOfFewUpdates) {
  SmoothedNoise noise(32);
  for (int64_t i = 1; i < SmoothedNoise::kEnough; ++i) noise.Add(64, {1, 10});
  EXPECT_FALSE(noise.mean().has_value());
  noise.Add(64, {1, 10});
  ASSERT_TRUE(noise.mean().has_value());
  EXPECT_NEAR(noise.mean()->square, 1, 1e-9);
  EXPECT_NEAR(*noise.mean()->Scale(), 10, 1e-9);
}

// Half of what was known is forgotten over 693 batches, in whatever updates.
TEST(SmoothedNoiseTest, ForgetsByBatches) {
  for (const int batches : {1, 7}) {
    SmoothedNoise noise(32);
    for (int i = 0; i < 20'000; ++i) noise.Add(32.0 * batches, {1, 10});
    for (int i = 0; i < 693 / batches; ++i) {
      noise.Add(32.0 * batches, {3, 10});
    }
    EXPECT_NEAR(noise.mean()->square, 2, 0.01) << batches;
  }
}

// Before there are enough updates, with them, and later.
TEST(SmoothedNoiseTest, OneUpdateThatWentAstrayIsNotBelieved) {
  for (const int astray : {0, 7, 19, 500}) {
    SmoothedNoise noise(32);
    for (int i = 0; i < 1'000; ++i) {
      noise.Add(
          32, i == astray ? GradientNoise{-1e12, 1e12} : GradientNoise{1, 10});
    }
    EXPECT_NEAR(noise.mean()->variance, 10, 0.3) << astray;
    EXPECT_NEAR(noise.mean()->square, 1, 0.05) << astray;
  }
}

TEST(SmoothedNoiseTest, WhatHasBecomeUsualIsBelieved) {
  SmoothedNoise noise(32);
  for (int i = 0; i < 1'000; ++i) noise.Add(32, {1, 10});
  int updates = 0;
  for (; noise.mean()->variance < 5'000; ++updates) noise.Add(32, {1e3, 1e4});
  EXPECT_GT(noise.mean()->square, 400);
  EXPECT_LT(updates, 1'200);
  EXPECT_GT(updates, 100);
}

TEST(SmoothedNoiseTest, NoiseMayFollowNone) {
  SmoothedNoise noise(32);
  for (int i = 0; i < 100; ++i) noise.Add(32, {1, 0});
  for (int i = 0; i < 3'000; ++i) noise.Add(32, {1, 10});
  EXPECT_NEAR(noise.mean()->variance, 10, 1);
}

TEST(GradientNoiseTest, AGradientThatCannotBeToldFromNoneHasNoScale) {
  EXPECT_EQ((GradientNoise{2, 10}.Scale()), 5);
  EXPECT_EQ((GradientNoise{0, 10}.Scale()), std::nullopt);
  EXPECT_EQ((GradientNoise{-1, 10}.Scale()), std::nullopt);
  EXPECT_EQ((GradientNoise{2, 10}.Over(10)), 0.5);
  EXPECT_EQ((GradientNoise{2, -10}.Over(10)), 0);
  EXPECT_TRUE(std::isinf(GradientNoise{0, 10}.Over(10)));
}

}  // namespace
}  // namespace paceline
