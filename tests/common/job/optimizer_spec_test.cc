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
        "sgd:momentum=auto,total_momentum=0.95,nesterov=true",
        // Rounded to six digits it would be 1, which is none.
        "adam:beta2=0.9999999"}) {
    const OptimizerSpec spec = *ParseOptimizerSpec(text);
    EXPECT_EQ(FormatOptimizerSpec(spec), text);
    EXPECT_EQ(*ParseOptimizerSpec(FormatOptimizerSpec(spec)), spec);
  }
}

TEST(OptimizerSpecTest, SaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : {
           Case{"", "unknown optimizer \"\"; use sgd, adam or adamw"},
           Case{"rmsprop", "use sgd, adam or adamw"},
           Case{"sgd:beta1=0.9",
                "the parameters momentum, weight_decay, total_momentum, "
                "nesterov"},
           Case{"adam:momentum=0.9",
                "the parameters weight_decay, beta1, beta2, epsilon"},
           Case{"adam:nesterov=true", "unknown parameter \"nesterov\""},
           Case{"sgd:momentum=x",
                "momentum must be a number, not \"x\", or auto"},
           Case{"sgd:total_momentum=0.9", "total_momentum needs momentum=auto"},
           Case{"sgd:momentum=0.9,total_momentum=0.9",
                "total_momentum needs momentum=auto"},
           Case{"sgd:momentum=auto,total_momentum=0",
                "momentum=auto needs a total_momentum above 0"},
           Case{"sgd:momentum=auto,total_momentum=1", "it must be in [0, 1)"},
           Case{"sgd:momentum=auto,total_momentum=much",
                "total_momentum must be a number, not \"much\""},
           Case{"adam:total_momentum=0.9", "unknown parameter"},
           Case{"sgd:momentum", "not of the form parameter=value"},
           Case{"sgd:momentum=", "not of the form parameter=value"},
           // Empty parameters were passed over once.
           Case{"sgd:,,", "optimizer: \"\" is not of the form"},
           Case{"sgd:", "optimizer: \"\" is not of the form"},
           Case{"sgd:momentum=0.9,", "\"\" is not of the form"},
           Case{"sgd:momentum=1", "it must be in [0, 1)"},
           Case{"sgd:momentum=-0.1", "it must be in [0, 1)"},
           Case{"sgd:momentum=nan", "it must be in [0, 1)"},
           Case{"sgd:weight_decay=inf", "it must be in [0, 1]"},
           Case{"sgd:momentum=0.5,momentum=0.6", "\"momentum\" is given twice"},
           Case{"sgd:nesterov=yes", "nesterov=yes is none of false, true"},
           Case{"sgd:nesterov=true", "nesterov needs a momentum above 0"},
           Case{"sgd:momentum=0.9,delay=4", "a delay needs nesterov=true"},
           Case{"sgd:momentum=auto,nesterov=true,delay=4",
                "a momentum that is not auto"},
           Case{"sgd:momentum=0.9,nesterov=true,delay=0",
                "delay=0 is too small"},
           Case{"sgd:momentum=0.9,nesterov=true,delay=10001",
                "delay=10001 is not a whole number from"},
           Case{"adam:delay=2", "unknown parameter \"delay\""},
           Case{"adamw:weight_decay=0.1,no_decay=biases",
                "no_decay=biases is none of none, norms_and_biases"},
           Case{"adamw:no_decay=norms_and_biases",
                "no_decay needs a weight_decay above 0"},
           Case{"adam:beta2=1", "beta2 is 1; it must be in [0, 1)"},
           Case{"adamw:epsilon=0", "epsilon is 0"},
       }) {
    const auto parsed = ParseOptimizerSpec(c.text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument)
        << c.text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(c.message))
        << c.text;
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

TEST(RoundStrengthTest, IsOneOfThree) {
  EXPECT_EQ(*ParseRoundStrength("linear"), RoundStrength::kLinear);
  EXPECT_EQ(*ParseRoundStrength("sqrt"), RoundStrength::kSqrt);
  EXPECT_EQ(*ParseRoundStrength("constant"), RoundStrength::kConstant);
  EXPECT_EQ(ParseRoundStrength("cubic").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paceline
