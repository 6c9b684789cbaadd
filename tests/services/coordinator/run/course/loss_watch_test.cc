#include "services/coordinator/run/course/loss_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/rng.h"

namespace paceline {
namespace {

using testing::HasSubstr;

// Losses of batches: what `of` says of each push, and noise of `deviation`.
LossWatch After(int pushes, double deviation,
                const std::function<double(int)>& of, uint64_t seed = 1) {
  LossWatch watch;
  Rng rng(seed);
  for (int i = 0; i < pushes; ++i) {
    // Of the same variance as what is drawn evenly.
    const double noise = (rng.Unit() - 0.5) * std::sqrt(12.0) * deviation;
    watch.Pushed(of(i) + noise);
  }
  return watch;
}

TEST(LossWatchTest, AFewPushesSayNothing) {
  const auto flat = [](int) { return 2.3; };
  EXPECT_FALSE(After(LossWatch::kEnough - 1, 0, flat).Flat());
  EXPECT_TRUE(After(LossWatch::kEnough, 0, flat).Flat());
}

TEST(LossWatchTest, AFlatLossIsFlatHoweverLongItTakes) {
  for (const int pushes : {100, 375, 1'000, 10'000, 200'000}) {
    int found = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) {
      found += After(
                   pushes, 0.2, [](int) { return 2.3; }, seed)
                       .Flat()
                   ? 1
                   : 0;
    }
    EXPECT_GE(found, 45) << pushes;
  }
}

TEST(LossWatchTest, ALossThatRisesIsFlat) {
  EXPECT_TRUE(After(500, 0.1, [](int i) { return 2.3 + 0.1 * i; }).Flat());
}

TEST(LossWatchTest, ALossThatFallsIsNot) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    // At the beginning alone, slowly, late, and up again.
    EXPECT_FALSE(After(
                     10'000, 0.2,
                     [](int i) { return 0.1 + 2.2 * std::exp(-i / 30.0); },
                     seed)
                     .Flat());
    EXPECT_FALSE(After(
                     1'000, 0.2, [](int i) { return 2.3 - 0.0005 * i; }, seed)
                     .Flat());
    EXPECT_FALSE(
        After(
            1'000, 0.2, [](int i) { return i < 800 ? 2.3 : 1.0; }, seed)
            .Flat());
    EXPECT_FALSE(After(
                     1'000, 0.2,
                     [](int i) { return i < 500 ? 2.3 - i / 250.0 : 9.0; },
                     seed)
                     .Flat());
  }
}

TEST(LossWatchTest, SaysWhatItHasSeen) {
  const LossWatch watch = After(400, 0, [](int) { return 2.5; });
  EXPECT_THAT(watch.Describe(),
              HasSubstr("2.5 in the first 20 pushes, at best 2.5 in a part of "
                        "the 380 since"));
}

}  // namespace
}  // namespace paceline
