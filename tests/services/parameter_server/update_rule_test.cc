#include "services/parameter_server/update_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "common/rng.h"

namespace paceline {
namespace {

using Kind = OptimizerSpec::Kind;

// The update rule for one element, in double precision.
struct Reference {
  double w = 0;
  double first = 0;
  double second = 0;
  int t = 0;

  // `g` is the mean gradient.
  void Apply(const OptimizerSpec& spec, double s, double rate, double g) {
    ++t;
    if (spec.kind == Kind::kSgd) {
      const double d = s * (g + spec.weight_decay * w);
      if (spec.delay > 1) return Delay(spec, rate, d);
      first = spec.momentum * first + d;
      w -= rate * (spec.nesterov ? d + spec.momentum * first : first);
      return;
    }
    const bool decoupled = spec.kind == Kind::kAdamW;
    const double d = g + (decoupled ? 0 : spec.weight_decay * w);
    first = spec.beta1 * first + (1 - spec.beta1) * d;
    second = spec.beta2 * second + (1 - spec.beta2) * d * d;
    const double m = first / (1 - std::pow(spec.beta1, t));
    const double v = second / (1 - std::pow(spec.beta2, t));
    const double decay = decoupled ? spec.weight_decay * w : 0;
    w -= s * rate * (m / (std::sqrt(v) + spec.epsilon) + decay);
  }

  // As Liu et al. write it, with their c: the momentum's share of the updates
  // between two of its own. 0 is what they take and the only one here.
  void Delay(const OptimizerSpec& spec, double rate, double d) {
    const auto n = static_cast<double>(spec.delay);
    constexpr double kC = 0;
    second += d;
    if (t % spec.delay != 0) {
      w -= rate * (kC * spec.momentum * first + d / n);
      return;
    }
    first = spec.momentum * first + second / n;
    w -= rate * ((1 - kC * n + kC) * spec.momentum * first + d / n);
    second = 0;
  }
};

double Uniform(Rng& rng) { return rng.Unit() * 2 - 1; }

// 60 updates of `size` elements beside the reference, alternately in place and
// into a new state, with strengths and rates that change.
void ExpectFollowsReference(const std::string& text, size_t size,
                            const TensorTuning& tuning = {}) {
  SCOPED_TRACE(text);
  OptimizerSpec spec = *ParseOptimizerSpec(text);
  const UpdateRule rule(spec, 32, RoundStrength::kLinear);
  spec.weight_decay = tuning.weight_decay.value_or(spec.weight_decay);
  const int slots = rule.Slots(TensorKind::kTrained);
  Rng rng(size);
  std::vector<Reference> want(size);
  BlockState states[2] = {{size, slots}, {size, slots}};
  for (size_t i = 0; i < size; ++i) {
    want[i].w = static_cast<float>(Uniform(rng));
    states[0].weights()[i] = static_cast<float>(want[i].w);
    for (int k = 0; k < slots; ++k) states[0].slot(k)[i] = 0;
  }
  int now = 0;
  for (uint64_t step = 0; step < 60; ++step) {
    const uint32_t samples = 1 + static_cast<uint32_t>(rng.Below(64));
    const Contribution contribution =
        rule.Immediate(samples, 0.75f, 0.01 + 0.01 * rng.Unit());
    std::vector<float> gradient(size);
    for (size_t i = 0; i < size; ++i) {
      gradient[i] = static_cast<float>(Uniform(rng));
      want[i].Apply(spec, 0.75 * samples / 32,
                    contribution.rate * tuning.rate_factor, gradient[i]);
    }
    const int next = step % 2 == 0 ? now : 1 - now;
    states[now].set_steps(step);
    rule.Apply(TensorKind::kTrained, tuning, contribution,
               Payload::OfFloats(gradient.data(), size), DType::kF32,
               states[now], states[next]);
    now = next;
  }
  for (size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(states[now].weights()[i], want[i].w, 2e-5) << i;
  }
}

TEST(UpdateRuleTest, OptimizersFollowTheDoublePrecisionReference) {
  for (const char* text :
       {"sgd", "sgd:weight_decay=0.01", "sgd:momentum=0.9",
        "sgd:momentum=0.9,weight_decay=0.01",
        "sgd:momentum=0.9,nesterov=true,weight_decay=0.01",
        "sgd:momentum=0.9,nesterov=true,delay=2",
        "sgd:momentum=0.5,nesterov=true,delay=7,weight_decay=0.01", "adam",
        "adam:weight_decay=0.01,beta1=0.8,beta2=0.95", "adamw",
        "adamw:weight_decay=0.1,epsilon=1e-6"}) {
    // Below, at and above the width of a vector.
    for (size_t size : {1, 7, 8, 17, 64}) ExpectFollowsReference(text, size);
  }
}

// As if the optimizer had them for this tensor.
TEST(UpdateRuleTest, ATensorMayHaveItsOwnRateAndDecay) {
  for (const char* text :
       {"sgd:weight_decay=0.01", "sgd:momentum=0.9,weight_decay=0.01",
        "sgd:momentum=0.9,nesterov=true",
        "sgd:momentum=0.9,nesterov=true,delay=3", "adam:weight_decay=0.1",
        "adamw", "adamw:weight_decay=0.1"}) {
    for (const double factor : {0.0, 0.1, 1.0, 10.0}) {
      ExpectFollowsReference(text, 17, {.rate_factor = factor});
      ExpectFollowsReference(text, 17,
                             {.rate_factor = factor, .weight_decay = 0.05});
    }
    ExpectFollowsReference(text, 17, {.weight_decay = 0});
  }
}

// Whatever the optimizer says is the same bits when a tensor says it.
TEST(UpdateRuleTest, WhatATensorSaysIsAsIfTheOptimizerHadSaidIt) {
  const std::vector<float> gradient = {0.1f, -0.7f, 3.3f};
  const auto weights = [&](const char* text, const TensorTuning& tuning) {
    const UpdateRule rule(*ParseOptimizerSpec(text), 3, RoundStrength::kLinear);
    BlockState state(3, rule.Slots(TensorKind::kTrained));
    for (int i = 0; i < 3; ++i) {
      state.weights()[i] = 0.3f * static_cast<float>(i + 1);
      for (int k = 0; k < state.slots(); ++k) state.slot(k)[i] = 0;
    }
    for (uint64_t step = 0; step < 5; ++step) {
      state.set_steps(step);
      rule.Apply(TensorKind::kTrained, tuning, rule.Immediate(2, 0.9f, 0.03),
                 Payload::OfFloats(gradient.data(), 3), DType::kF32, state,
                 state);
    }
    return std::vector<float>(state.weights(), state.weights() + 3);
  };
  EXPECT_EQ(weights("sgd:momentum=0.9,weight_decay=5e-4", {}),
            weights("sgd:momentum=0.9", {.weight_decay = 5e-4}));
  EXPECT_EQ(weights("adamw:weight_decay=0.05", {.rate_factor = 1}),
            weights("adamw:weight_decay=0.3", {.weight_decay = 0.05}));
  EXPECT_EQ(weights("adamw", {}),
            weights("adamw:weight_decay=0.3", {.weight_decay = 0}));
  EXPECT_NE(weights("adamw", {}), weights("adamw:weight_decay=0.3", {}));
}

// N equal gradients of a delay of N are one of Nesterov's updates.
TEST(UpdateRuleTest, EqualGradientsOfADelayAreOneUpdate) {
  const std::vector<float> gradient = {0.5f, -0.25f, 2};
  const auto weights = [&](const char* text, int updates) {
    const UpdateRule rule(*ParseOptimizerSpec(text), 1, RoundStrength::kLinear);
    BlockState state(3, rule.Slots(TensorKind::kTrained));
    for (int i = 0; i < 3; ++i) {
      state.weights()[i] = static_cast<float>(i);
      for (int k = 0; k < state.slots(); ++k) state.slot(k)[i] = 0;
    }
    for (int step = 0; step < updates; ++step) {
      state.set_steps(static_cast<uint64_t>(step));
      rule.Apply(TensorKind::kTrained, {}, rule.Immediate(1, 1, 0.125),
                 Payload::OfFloats(gradient.data(), 3), DType::kF32, state,
                 state);
    }
    return std::vector<float>(state.weights(), state.weights() + 3);
  };
  const auto want = weights("sgd:momentum=0.5,nesterov=true", 5);
  const auto got = weights("sgd:momentum=0.5,nesterov=true,delay=4", 20);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], want[i], 1e-6);
  // Between two such updates the momentum moves nothing.
  const auto half = weights("sgd:momentum=0.5,nesterov=true,delay=4", 22);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(half[i], want[i] - 0.125f * 0.5f * gradient[i], 1e-6);
  }
}

TEST(UpdateRuleTest, DecayMayLeaveNormsAndBiasesAlone) {
  const OptimizerSpec plain = *ParseOptimizerSpec("adamw:weight_decay=0.1");
  const OptimizerSpec spared =
      *ParseOptimizerSpec("adamw:weight_decay=0.1,no_decay=norms_and_biases");
  for (const size_t dimensions : {0, 1, 2, 4}) {
    EXPECT_EQ(TuningOf(plain, dimensions), TensorTuning());
    EXPECT_EQ(TuningOf(spared, dimensions).weight_decay,
              dimensions < 2 ? std::optional<double>(0) : std::nullopt);
  }
}

TEST(UpdateRuleTest, SlotsOfEachOptimizer) {
  const auto slots = [](const char* text, bool statistic) {
    return UpdateRule(*ParseOptimizerSpec(text), 1, RoundStrength::kLinear)
        .Slots(statistic ? TensorKind::kStatistic : TensorKind::kTrained);
  };
  EXPECT_EQ(slots("sgd", false), 0);
  EXPECT_EQ(slots("sgd:momentum=0.5", false), 1);
  EXPECT_EQ(slots("sgd:momentum=0.5,nesterov=true,delay=2", false), 2);
  EXPECT_EQ(slots("adam", false), 2);
  EXPECT_EQ(slots("adamw", false), 2);
  EXPECT_EQ(slots("adamw", true), 0);
}

TEST(UpdateRuleTest, StrengthOfPushesAndRounds) {
  const OptimizerSpec sgd;
  const UpdateRule linear(sgd, 32, RoundStrength::kLinear);
  const UpdateRule root(sgd, 32, RoundStrength::kSqrt);
  const UpdateRule constant(sgd, 32, RoundStrength::kConstant);
  EXPECT_EQ(linear.Immediate(16, 0.5f, 0.1).strength, 0.25);
  EXPECT_EQ(linear.Immediate(16, 0.5f, 0.1).gradient_scale, 1);
  EXPECT_EQ(root.Immediate(128, 1.0f, 0.1).strength, 4) << "f is for rounds";
  EXPECT_EQ(linear.Round(128, 0.1).strength, 4);
  EXPECT_EQ(linear.Round(128, 0.1).gradient_scale, 1.0 / 128);
  EXPECT_EQ(root.Round(128, 0.1).strength, 2);
  EXPECT_EQ(constant.Round(128, 0.1).strength, 1);
}

TEST(UpdateRuleTest, StatisticsForgetByTheBatch) {
  const UpdateRule rule(*ParseOptimizerSpec("adam"), 10, RoundStrength::kSqrt);
  BlockState state(3, 0);
  const std::vector<float> start = {1, -2, 0};
  std::copy(start.begin(), start.end(), state.weights());
  const std::vector<float> sums = {20, 40, -10};  // Of 5 samples.
  rule.Apply(TensorKind::kStatistic, {}, rule.Round(5, /*rate=*/0),
             Payload::OfFloats(&sums[0], 3), DType::kF32, state, state);
  const double a = 1 - std::pow(0.9, 0.5);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(state.weights()[i], start[i] + a * (sums[i] / 5 - start[i]),
                1e-6);
  }
}

TEST(UpdateRuleTest, AStatisticForgetsByItsOwnMomentum) {
  const UpdateRule rule(*ParseOptimizerSpec("sgd"), 10, RoundStrength::kLinear);
  const float batch = 5;
  for (const double momentum : {0.01, 0.3, 1.0}) {
    for (const uint32_t samples : {1u, 10u, 25u}) {
      BlockState state(1, 0);
      state.weights()[0] = 2;
      rule.Apply(TensorKind::kStatistic, {.momentum = momentum},
                 rule.Immediate(samples, 1, /*rate=*/0),
                 Payload::OfFloats(&batch, 1), DType::kF32, state, state);
      const double a = 1 - std::pow(1 - momentum, samples / 10.0);
      EXPECT_NEAR(state.weights()[0], 2 + a * (5 - 2), 1e-6)
          << momentum << " " << samples;
    }
  }
}

// Of a round the mean, of what is applied at once the value itself.
TEST(UpdateRuleTest, AnAverageTakesThePlaceOfWhatIsThere) {
  const UpdateRule rule(*ParseOptimizerSpec("adam"), 10, RoundStrength::kSqrt);
  BlockState state(2, rule.Slots(TensorKind::kAveraged));
  EXPECT_EQ(state.slots(), 0);
  state.weights()[0] = 1e30f;
  state.weights()[1] = -1;
  const std::vector<float> values = {0.1f, 7};
  rule.Apply(TensorKind::kAveraged, {.rate_factor = 0.5},
             rule.Immediate(3, 0.25f, 0.01), Payload::OfFloats(&values[0], 2),
             DType::kF32, state, state);
  EXPECT_EQ(state.weights()[0], 0.1f);
  EXPECT_EQ(state.weights()[1], 7);
  const std::vector<float> sums = {20, -10};  // Of 4 samples.
  rule.Apply(TensorKind::kAveraged, {}, rule.Round(4, /*rate=*/0),
             Payload::OfFloats(&sums[0], 2), DType::kF32, state, state);
  EXPECT_EQ(state.weights()[0], 5);
  EXPECT_EQ(state.weights()[1], -2.5f);
}

TEST(UpdateRuleTest, EveryWireTypeMovesTheWeightsEqually) {
  const UpdateRule rule(*ParseOptimizerSpec("sgd"), 1, RoundStrength::kLinear);
  const size_t size = 3072;  // Three of the payload's tiles.
  std::vector<float> gradient(size);
  // Whole numbers, of which each group of int8 has -127.
  for (size_t i = 0; i < size; ++i) {
    gradient[i] = static_cast<float>(i % 255) - 127;
  }
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kInt8}) {
    std::string bytes(EncodedSize(dtype, size), '\0');
    ConvertFromF32(dtype, gradient.data(), size, bytes.data());
    // Cut inside an element.
    Payload payload(absl::string_view(bytes).substr(0, 2501));
    payload.Append(absl::string_view(bytes).substr(2501));
    BlockState state(size, 0);
    std::fill_n(state.weights(), size, 1000.0f);
    rule.ApplyGradient({}, rule.Immediate(1, 1, 2), payload, dtype, state,
                       state);
    for (size_t i = 0; i < size; ++i) {
      ASSERT_EQ(state.weights()[i], 1000.0f - 2 * gradient[i]) << i;
    }
  }
}

TEST(UpdateRuleTest, RoundFactorWeighsGradientsButNotValues) {
  EXPECT_EQ(UpdateRule::RoundFactor(8, 0.5f, TensorKind::kTrained), 4.0f);
  EXPECT_EQ(UpdateRule::RoundFactor(8, 0.5f, TensorKind::kStatistic), 8.0f);
  EXPECT_EQ(UpdateRule::RoundFactor(8, 0.5f, TensorKind::kAveraged), 8.0f);
}

}  // namespace
}  // namespace paceline
