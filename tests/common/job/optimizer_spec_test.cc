#include "common/job/optimizer_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace paceline {
namespace {

using testing::HasSubstr;
using Kind = OptimizerSpec::Kind;

TEST(OptimizerSpecTest, Parses) {
  const auto sgd =
      ParseOptimizerSpec("sgd:momentum=0.9,nesterov=true,weight_decay=5e-4");
  ASSERT_TRUE(sgd.ok()) << sgd.status();
  EXPECT_EQ(*sgd, (OptimizerSpec{.kind = Kind::kSgd,
                                 .momentum = 0.9,
                                 .nesterov = true,
                                 .weight_decay = 5e-4}));
  const auto adamw = ParseOptimizerSpec("adamw:beta1=0.8,epsilon=1e-6");
  ASSERT_TRUE(adamw.ok()) << adamw.status();
  EXPECT_EQ(*adamw, (OptimizerSpec{
                        .kind = Kind::kAdamW, .beta1 = 0.8, .epsilon = 1e-6}));
  EXPECT_EQ(*ParseOptimizerSpec("sgd"), OptimizerSpec());
  EXPECT_EQ(ParseOptimizerSpec("adam")->kind, Kind::kAdam);
}

TEST(OptimizerSpecTest, FormatIsReadBack) {
  for (const char* text :
       {"sgd", "sgd:momentum=0.9", "sgd:momentum=0.9,nesterov=true",
        "adam:weight_decay=0.01,beta2=0.95", "adamw:beta1=0,epsilon=0.001",
        "sgd:weight_decay=0.01,no_decay=norms_and_biases",
        "sgd:momentum=0.9,weight_decay=0.01,nesterov=true,"
        "no_decay=norms_and_biases",
        "adamw:weight_decay=0.05,no_decay=norms_and_biases",
        "sgd:momentum=0.9,nesterov=true,delay=16", "sgd:momentum=auto",
        "sgd:momentum=0.9,correction=heloco",
        "sgd:momentum=0.9,nesterov=true,delay=4,correction=heloco",
        "sgd:momentum=auto,total_momentum=0.95,nesterov=true",
        // Rounded to six digits it would be 1, which is none.
        "adam:beta2=0.9999999"}) {
    const OptimizerSpec spec = *ParseOptimizerSpec(text);
    EXPECT_EQ(FormatOptimizerSpec(spec), text);
    EXPECT_EQ(*ParseOptimizerSpec(FormatOptimizerSpec(spec)), spec);
  }
}

struct WrongSpec {
  const char* text;
  const char* message;
};

void ExpectRefused(const WrongSpec& c) {
  const auto parsed = ParseOptimizerSpec(c.text);
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
      << c.text;
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(c.message))
      << c.text;
}

TEST(OptimizerSpecTest, SaysWhatIsWrong) {
  for (const WrongSpec& c : {
           WrongSpec{"", "unknown optimizer \"\"; use sgd, adam or adamw"},
           WrongSpec{"rmsprop", "use sgd, adam or adamw"},
           WrongSpec{"sgd:beta1=0.9",
                     "the parameters momentum, weight_decay, total_momentum, "
                     "nesterov"},
           WrongSpec{"adam:momentum=0.9",
                     "the parameters weight_decay, beta1, beta2, epsilon"},
           WrongSpec{"adam:nesterov=true", "unknown parameter \"nesterov\""},
           WrongSpec{"sgd:momentum=x",
                     "momentum must be a number, not \"x\", or auto"},
           WrongSpec{"sgd:total_momentum=0.9",
                     "total_momentum needs momentum=auto"},
           WrongSpec{"sgd:momentum=0.9,total_momentum=0.9",
                     "total_momentum needs momentum=auto"},
           WrongSpec{"sgd:momentum=auto,total_momentum=0",
                     "momentum=auto needs a total_momentum above 0"},
           WrongSpec{"sgd:momentum=auto,total_momentum=1",
                     "it must be in [0, 1)"},
           WrongSpec{"sgd:momentum=auto,total_momentum=much",
                     "total_momentum must be a number, not \"much\""},
           WrongSpec{"adam:total_momentum=0.9", "unknown parameter"},
           WrongSpec{"sgd:momentum", "not of the form parameter=value"},
           WrongSpec{"sgd:momentum=", "not of the form parameter=value"},
           // Empty parameters were passed over once.
           WrongSpec{"sgd:,,", "optimizer: \"\" is not of the form"},
           WrongSpec{"sgd:", "optimizer: \"\" is not of the form"},
           WrongSpec{"sgd:momentum=0.9,", "\"\" is not of the form"},
           WrongSpec{"sgd:momentum=1", "it must be in [0, 1)"},
           WrongSpec{"sgd:momentum=-0.1", "it must be in [0, 1)"},
           WrongSpec{"sgd:momentum=nan", "it must be in [0, 1)"},
           WrongSpec{"sgd:weight_decay=inf", "it must be in [0, 1]"},
           WrongSpec{"sgd:momentum=0.5,momentum=0.6",
                     "\"momentum\" is given twice"},
           WrongSpec{"sgd:nesterov=yes", "nesterov=yes is none of false, true"},
           WrongSpec{"sgd:nesterov=true", "nesterov needs a momentum above 0"},
           WrongSpec{"sgd:momentum=0.9,delay=4", "a delay needs nesterov=true"},
           WrongSpec{"sgd:momentum=auto,nesterov=true,delay=4",
                     "a momentum that is not auto"},
           WrongSpec{"sgd:momentum=0.9,nesterov=true,delay=0",
                     "delay=0 is too small"},
           WrongSpec{"sgd:momentum=0.9,nesterov=true,delay=10001",
                     "delay=10001 is not a whole number from"},
           WrongSpec{"adam:delay=2", "unknown parameter \"delay\""},
           WrongSpec{"adamw:weight_decay=0.1,no_decay=biases",
                     "no_decay=biases is none of none, norms_and_biases"},
           WrongSpec{"adamw:no_decay=norms_and_biases",
                     "no_decay needs a weight_decay above 0"},
           WrongSpec{"adam:beta2=1", "beta2 is 1; it must be in [0, 1)"},
           WrongSpec{"adamw:epsilon=0", "epsilon is 0"},
       }) {
    ExpectRefused(c);
  }
}

TEST(OptimizerSpecTest, SaysWhatACorrectionNeeds) {
  for (const WrongSpec& c :
       {WrongSpec{"sgd:correction=heloco", "needs a momentum above 0"},
        WrongSpec{"sgd:momentum=auto,correction=heloco", "that is not auto"},
        WrongSpec{"sgd:momentum=0.9,correction=yes",
                  "correction=yes is none of none, heloco"},
        WrongSpec{"adamw:correction=heloco",
                  "unknown parameter \"correction\""}}) {
    ExpectRefused(c);
  }
}

TEST(OptimizerSpecTest, AnAutomaticMomentumHasATotal) {
  const OptimizerSpec usual = *ParseOptimizerSpec("sgd:momentum=auto");
  EXPECT_TRUE(usual.momentum_by_staleness);
  EXPECT_EQ(usual.momentum, 0.9);
  EXPECT_EQ(*ParseOptimizerSpec("sgd:momentum=auto,total_momentum=0.9"), usual);
  EXPECT_EQ(OptimizerSlotNames(usual), std::vector<std::string>{"momentum"});
  EXPECT_EQ(TotalMomentum(usual), 0.9);
  EXPECT_EQ(TotalMomentum(*ParseOptimizerSpec("sgd:momentum=0.9")),
            std::nullopt);
}

TEST(OptimizerSpecTest, ADelayedMomentumIsTwoArrays) {
  const OptimizerSpec delayed =
      *ParseOptimizerSpec("sgd:momentum=0.9,nesterov=true,delay=4");
  EXPECT_EQ(delayed.delay, 4);
  EXPECT_EQ(OptimizerSlotNames(delayed),
            (std::vector<std::string>{"momentum", "delayed"}));
  EXPECT_EQ(*ParseOptimizerSpec("sgd:momentum=0.9,nesterov=true,delay=1"),
            *ParseOptimizerSpec("sgd:momentum=0.9,nesterov=true"));
  EXPECT_EQ(WithoutStaleness("sgd:momentum=0.9,nesterov=true,delay=4"),
            "sgd:momentum=0.9,nesterov=true");
}

TEST(OptimizerSpecTest, ACorrectionIsTheServers) {
  EXPECT_TRUE(ParseOptimizerSpec("sgd:momentum=0.9,correction=heloco")->heloco);
  EXPECT_EQ(*ParseOptimizerSpec("sgd:momentum=0.9,correction=none"),
            *ParseOptimizerSpec("sgd:momentum=0.9"));
  EXPECT_EQ(WithoutStaleness("sgd:momentum=0.9,correction=heloco"),
            "sgd:momentum=0.9");
}

TEST(OptimizerSpecTest, WithoutStalenessItIsTheTotal) {
  EXPECT_EQ(WithoutStaleness("sgd:momentum=auto"), "sgd:momentum=0.9");
  EXPECT_EQ(
      WithoutStaleness("sgd:nesterov=true,momentum=auto,total_momentum=0.95"),
      "sgd:momentum=0.95,nesterov=true");
  EXPECT_EQ(WithoutStaleness("sgd:weight_decay=0.1,momentum=0.5"),
            "sgd:weight_decay=0.1,momentum=0.5");
  EXPECT_EQ(WithoutStaleness("lion"), "lion");
  EXPECT_EQ(WithoutStaleness(""), "");
}

TEST(OptimizerSpecTest, NoDecayOfNothingIsAsIfItWereLeftOut) {
  EXPECT_EQ(*ParseOptimizerSpec("adamw:weight_decay=0.1,no_decay=none"),
            *ParseOptimizerSpec("adamw:weight_decay=0.1"));
}

TEST(RoundStrengthTest, IsOneOfFour) {
  EXPECT_EQ(*ParseRoundStrength("linear"), RoundStrength::kLinear);
  EXPECT_EQ(*ParseRoundStrength("sqrt"), RoundStrength::kSqrt);
  EXPECT_EQ(*ParseRoundStrength("constant"), RoundStrength::kConstant);
  EXPECT_EQ(*ParseRoundStrength("adascale"), RoundStrength::kAdaScale);
  EXPECT_EQ(ParseRoundStrength("cubic").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paceline
