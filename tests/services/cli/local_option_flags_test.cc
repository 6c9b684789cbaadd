#include "CLI/CLI.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/local_options.h"

namespace paceline {
namespace {

using testing::ElementsAre;

LocalFlags Parse(const std::string& arguments) {
  LocalFlags flags;
  CLI::App app;
  AddLocalFlags(app, flags);
  app.parse(arguments);
  flags.typed = TypedFlagsOf(app);
  return flags;
}

TEST(LocalFlagsTest, RepeatedFlagsAddUpAndKeepTheirCommas) {
  const LocalFlags flags = Parse(
      "--paradigm bsp --paradigm dssp:lower=3,upper=15 --slowdown 1,4 "
      "--delay constant:1ms --delay normal:mean=5ms,sd=2ms");
  EXPECT_THAT(flags.paradigms, ElementsAre("bsp", "dssp:lower=3,upper=15"));
  EXPECT_EQ(flags.slowdown, "1,4");
  EXPECT_THAT(flags.delay,
              ElementsAre("constant:1ms", "normal:mean=5ms,sd=2ms"));
}

TEST(LocalFlagsTest, ReadsEveryKind) {
  const LocalFlags flags = Parse(
      "--workers=2 --seed 18446744073709551615 --learning-rate 5e-2 "
      "--stop-at-target --target-accuracy 0.97 -o json --eval-every 100");
  EXPECT_EQ(flags.workers, 2);
  EXPECT_EQ(flags.seed, "18446744073709551615");
  EXPECT_EQ(flags.learning_rate, 0.05);
  EXPECT_TRUE(flags.stop_at_target);
  EXPECT_FALSE(flags.defer_eval);
  EXPECT_EQ(flags.output, "json");
  EXPECT_EQ(flags.eval_every, 100);
}

TEST(LocalFlagsTest, KnowsWhatWasTyped) {
  const LocalFlags flags = Parse(
      "--program 'python3 train.py' --argument depth=18 "
      "--argument text=a,b --optimizer sgd:momentum=0.9 -o json");
  EXPECT_EQ(flags.program.command, "python3 train.py");
  EXPECT_THAT(flags.program.arguments, ElementsAre("depth=18", "text=a,b"));
  EXPECT_THAT(flags.typed,
              testing::UnorderedElementsAre("--program", "--argument",
                                            "--optimizer", "--output"));
  EXPECT_TRUE(Parse("").typed.empty());
}

TEST(LocalFlagsTest, RefusesWhatItCannotRead) {
  for (const char* arguments :
       {"--workers 2.5", "--workers x", "--wokers 2", "bsp",
        "--paradigm bsp asp", "--paradigm", "--epochs 1e3"}) {
    EXPECT_THROW(Parse(arguments), CLI::ParseError) << arguments;
  }
}

}  // namespace
}  // namespace paceline
