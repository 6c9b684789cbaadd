#include "services/parameter_server/momentum_alignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "services/parameter_server/update_rule.h"
#include "tests/common/test_paths.h"

namespace paceline {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

const char* BytesOf(const std::vector<float>& floats) {
  return reinterpret_cast<const char*>(floats.data());
}

AlignmentSums SumsOf(const std::vector<float>& gradient,
                     const std::vector<float>& momentum) {
  AlignmentSums sums;
  AddAlignment(BytesOf(gradient), momentum.data(), gradient.size(), sums);
  return sums;
}

std::vector<float> Turned(const std::vector<float>& gradient,
                          const std::vector<float>& momentum,
                          const AlignmentScale& scale) {
  const MomentumTurn turn =
      TurnTowardsMomentum(SumsOf(gradient, momentum), scale);
  std::vector<float> turned(gradient.size());
  TurnGradient(turn.keep, turn.along, BytesOf(gradient), momentum.data(),
               gradient.size(), turned.data());
  return turned;
}

// A vector that heloco_vectors_test.py has made.
struct Vector {
  std::string name;
  AlignmentScale scale;
  std::vector<float> gradient;
  std::vector<float> momentum;
  std::vector<double> corrected;
};

template <class Number>
std::vector<Number> NumbersOf(std::istream& file) {
  std::string line;
  std::getline(file, line);
  std::istringstream text(line);
  std::vector<Number> numbers;
  for (Number number; text >> number;) numbers.push_back(number);
  return numbers;
}

std::vector<Vector> Vectors() {
  std::ifstream file(TestDataPath("heloco/vectors.txt"));
  std::vector<Vector> vectors;
  for (std::string line; std::getline(file, line);) {
    Vector vector;
    std::istringstream head(line);
    head >> vector.name >> vector.scale.gradient >> vector.scale.momentum;
    vector.gradient = NumbersOf<float>(file);
    vector.momentum = NumbersOf<float>(file);
    vector.corrected = NumbersOf<double>(file);
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

TEST(MomentumAlignmentTest, GivesWhatTheModelGives) {
  const std::vector<Vector> vectors = Vectors();
  ASSERT_GT(vectors.size(), 50u);
  for (const Vector& vector : vectors) {
    SCOPED_TRACE(vector.name);
    ASSERT_EQ(vector.gradient.size(), vector.corrected.size());
    const std::vector<float> got =
        Turned(vector.gradient, vector.momentum, vector.scale);
    const double length =
        std::sqrt(SumsOf(vector.gradient, vector.momentum).gradient_square);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], vector.corrected[i], 3e-7 * length) << i;
    }
  }
}

TEST(MomentumAlignmentTest, WhatIsAlignedStaysToTheBit) {
  EXPECT_TRUE(TurnTowardsMomentum(SumsOf({1, 0.5f}, {3, 0.1f}), {}).nothing());
  EXPECT_FALSE(TurnTowardsMomentum(SumsOf({0.1f, 1}, {3, 0.1f}), {}).nothing());
}

TEST(MomentumAlignmentTest, SumsAreThoseOfAllElementsInAnyPieces) {
  std::vector<float> gradient(77);
  std::vector<float> momentum(77);
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = static_cast<float>(i) - 30;
    momentum[i] = 2 * static_cast<float>(i % 5) - 3;
  }
  const AlignmentSums whole = SumsOf(gradient, momentum);
  AlignmentSums pieces;
  AlignmentSums plain;
  size_t at = 0;
  for (const size_t count : {1, 15, 16, 45}) {
    AddAlignment(BytesOf(gradient) + at * sizeof(float), &momentum[at], count,
                 pieces);
    at += count;
  }
  for (size_t i = 0; i < gradient.size(); ++i) {
    plain.dot += double{gradient[i]} * momentum[i];
    plain.gradient_square += double{gradient[i]} * gradient[i];
    plain.momentum_square += double{momentum[i]} * momentum[i];
  }
  // Whole numbers add up exactly.
  for (const AlignmentSums& sums : {whole, pieces}) {
    EXPECT_EQ(sums.dot, plain.dot);
    EXPECT_EQ(sums.gradient_square, plain.gradient_square);
    EXPECT_EQ(sums.momentum_square, plain.momentum_square);
  }
}

// Floats at their limits give a turn that is a number.
TEST(MomentumAlignmentTest, IsFiniteWhateverIsPushed) {
  const std::vector<float> extremes = {0,
                                       1,
                                       -1,
                                       kLargest,
                                       -kLargest,
                                       std::numeric_limits<float>::denorm_min(),
                                       -std::numeric_limits<float>::min()};
  for (const float g0 : extremes) {
    for (const float g1 : extremes) {
      for (const float v0 : extremes) {
        for (const float v1 : extremes) {
          for (const double scale : {1e-6, 1.0, 1e6}) {
            const MomentumTurn turn =
                TurnTowardsMomentum(SumsOf({g0, g1}, {v0, v1}),
                                    {.gradient = scale, .momentum = 0.001});
            ASSERT_TRUE(std::isfinite(turn.keep));
            ASSERT_TRUE(std::isfinite(turn.along));
            ASSERT_GE(turn.keep, 0);
            ASSERT_GE(turn.along, 0);
          }
        }
      }
    }
  }
}

// Blocks through the whole rule.
class HelocoRuleTest : public testing::Test {
 protected:
  static constexpr size_t kSize = 1500;  // Three tiles, one not full.

  HelocoRuleTest() : gradient_(kSize) {
    for (size_t i = 0; i < kSize; ++i) {
      gradient_[i] = std::sin(static_cast<float>(i) * 0.7f);
    }
  }

  // A block's weights after a gradient and, at half the strength, its
  // opposite.
  std::vector<float> Weights(const char* text, bool alone,
                             DType dtype = DType::kF32) const {
    const UpdateRule rule(*ParseOptimizerSpec(text), 2, RoundStrength::kLinear);
    BlockState state(kSize, rule.Slots(TensorKind::kTrained));
    std::fill_n(state.weights(), kSize, 1.0f);
    for (int k = 0; k < state.slots(); ++k) {
      std::fill_n(state.slot(k), kSize, 0.0f);
    }
    for (uint64_t step = 0; step < 4; ++step) {
      std::vector<float> pushed = gradient_;
      if (step == 3) {
        for (float& of : pushed) of = -of;
      }
      std::string bytes(EncodedSize(dtype, kSize), '\0');
      ConvertFromF32(dtype, pushed.data(), kSize, bytes.data());
      Contribution contribution = rule.Immediate(step == 3 ? 1 : 2, 1, 0.1);
      contribution.alone = alone;
      state.set_steps(step);
      rule.Apply(TensorKind::kTrained, {}, contribution, Payload(bytes), dtype,
                 state, state);
    }
    return {state.weights(), state.weights() + kSize};
  }

  std::vector<float> gradient_;
};

// v = 1.75 g after three steps of m = 0.5. The fourth is d = -0.5 g, and a mean
// 0.875 g: confidence 0.5 / (0.5 + 3 * 0.875) = 0.16, beta = 0.08, so that
// d = -0.46 g.
TEST_F(HelocoRuleTest, APushIsTurnedByTheMomentumBefore) {
  const double confidence = 0.5 / (0.5 + 3 * 0.875);
  const double d = -0.5 + 0.5 * confidence * 0.5;
  const double v = 0.5 * 1.75 + d;
  const std::vector<float> got =
      Weights("sgd:momentum=0.5,correction=heloco", true);
  const std::vector<float> nesterov =
      Weights("sgd:momentum=0.5,nesterov=true,correction=heloco", true);
  for (size_t i = 0; i < kSize; ++i) {
    const double g = gradient_[i];
    ASSERT_NEAR(got[i], 1 - 0.1 * (1 + 1.5 + 1.75 + v) * g, 1e-6) << i;
    ASSERT_NEAR(nesterov[i], 1 - 0.1 * (1.5 + 1.75 + 1.875 + d + 0.5 * v) * g,
                1e-6)
        << i;
  }
}

// The momentum is (1 + 1) / 2 after the second step, and the fourth one's d is
// gathered with the third's.
TEST_F(HelocoRuleTest, ItGoesWithADelay) {
  const double confidence = 0.5 / (0.5 + 3 * 0.5);
  const double d = -0.5 + 0.5 * confidence * 0.5;
  const double v = 0.5 + (1 + d) / 2;
  const std::vector<float> got =
      Weights("sgd:momentum=0.5,nesterov=true,delay=2,correction=heloco", true);
  for (size_t i = 0; i < kSize; ++i) {
    ASSERT_NEAR(
        got[i],
        1 - 0.1 * (0.5 + 0.5 + 0.5 + 0.5 + d / 2 + 0.5 * v) * gradient_[i],
        1e-6)
        << i;
  }
}

TEST_F(HelocoRuleTest, ARoundIsNotTurned) {
  for (const char* momentum :
       {"sgd:momentum=0.5", "sgd:momentum=0.5,nesterov=true",
        "sgd:momentum=0.5,nesterov=true,delay=3"}) {
    const std::string heloco = std::string(momentum) + ",correction=heloco";
    EXPECT_EQ(Weights(heloco.c_str(), false), Weights(momentum, false));
    EXPECT_NE(Weights(heloco.c_str(), true), Weights(momentum, true));
  }
}

TEST_F(HelocoRuleTest, EveryWireTypeIsTurned) {
  const std::vector<float> want =
      Weights("sgd:momentum=0.5,correction=heloco", true);
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kInt8}) {
    const std::vector<float> got =
        Weights("sgd:momentum=0.5,correction=heloco", true, dtype);
    for (size_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(got[i], want[i], 4e-3) << DTypeName(dtype) << " " << i;
    }
  }
}

// A statistic follows what is pushed, whatever the momentum of the others.
TEST_F(HelocoRuleTest, StatisticsAreLeftAlone) {
  const float pushed = -4;
  const auto after = [&](const char* text) {
    const UpdateRule rule(*ParseOptimizerSpec(text), 1, RoundStrength::kLinear);
    BlockState state(1, rule.Slots(TensorKind::kStatistic));
    state.weights()[0] = 2;
    rule.Apply(TensorKind::kStatistic, {}, rule.Immediate(1, 1, 0.1),
               Payload::OfFloats(&pushed, 1), DType::kF32, state, state);
    return state.weights()[0];
  };
  EXPECT_EQ(after("sgd:momentum=0.5,correction=heloco"),
            after("sgd:momentum=0.5"));
}

}  // namespace
}  // namespace paceline
