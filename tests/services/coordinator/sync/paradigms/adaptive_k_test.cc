#include "services/coordinator/sync/paradigms/adaptive_k.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "gtest/gtest.h"

namespace paceline {
namespace {

using UpdateTime = AdaptiveK::UpdateTime;

constexpr GradientCount Auto(int64_t k0,
                             std::optional<double> first = std::nullopt) {
  return {.k = k0, .adaptive = true, .first_loss = first};
}

// K^2 / (P - K) = `to`, by halving an interval.
double RootOf(double to, double workers) {
  double low = 0;
  double high = workers;
  for (int i = 0; i < 100; ++i) {
    const double k = (low + high) / 2;
    (k * k / (workers - k) < to ? low : high) = k;
  }
  return low;
}

TEST(AdaptiveKTest, SolvesThePapersEquations) {
  for (const int64_t workers : {2, 3, 8, 100}) {
    for (int64_t k0 = 1; k0 < std::min<int64_t>(workers, 9); ++k0) {
      for (const double fallen : {1.0, 1.3, 4.0, 20.0, 5'000.0}) {
        AdaptiveK sync(Auto(k0, fallen), UpdateTime::kLastOfWorkers);
        AdaptiveK batches(Auto(k0, fallen), UpdateTime::kInProportion);
        for (int64_t i = 0; i < k0; ++i) sync.Pushed(1), batches.Pushed(1);
        const auto p = static_cast<double>(workers);
        const auto k = static_cast<double>(k0);
        EXPECT_EQ(sync.Of(workers),
                  std::llround(RootOf(k * k / (p - k) * fallen, p)))
            << workers << " workers, from " << k0 << ", fallen " << fallen;
        EXPECT_EQ(batches.Of(workers),
                  std::llround(std::min(p, k * std::sqrt(fallen))));
      }
    }
  }
}

TEST(AdaptiveKTest, TheFirstLossIsTheMeanOfTheFirstUpdate) {
  AdaptiveK k(Auto(2), UpdateTime::kInProportion);
  EXPECT_EQ(k.Of(8), 2);
  k.Pushed(5);
  k.Pushed(3);
  EXPECT_EQ(k.Of(8), 2);
  // Four losses in four hundred: so long does the mean last.
  for (int i = 0; i < 400; ++i) k.Pushed(1);
  EXPECT_EQ(k.Of(8), 4);
  for (int i = 0; i < 400; ++i) k.Pushed(0.25);
  EXPECT_EQ(k.Of(8), 8);
  EXPECT_EQ(k.Of(5), 5);
  // A loss that rises again is taken at its word, down to the beginning.
  for (int i = 0; i < 400; ++i) k.Pushed(100);
  EXPECT_EQ(k.Of(8), 2);
}

TEST(AdaptiveKTest, ALossThatIsNotKnownLeavesItAsItIs) {
  AdaptiveK k(Auto(2), UpdateTime::kLastOfWorkers);
  for (int i = 0; i < 100; ++i) k.Pushed(std::nullopt);
  EXPECT_EQ(k.Of(8), 2);
  k.Pushed(4);
  k.Pushed(4);
  for (int i = 0; i < 400; ++i) k.Pushed(0.5);
  const int64_t grown = k.Of(8);
  EXPECT_GT(grown, 2);
  for (int i = 0; i < 100; ++i) k.Pushed(std::nullopt);
  EXPECT_EQ(k.Of(8), grown);
}

TEST(AdaptiveKTest, StaysAsItBeganWhereTheRuleDoesNotApply) {
  AdaptiveK fixed({.k = 3}, UpdateTime::kInProportion);
  AdaptiveK negative(Auto(1), UpdateTime::kInProportion);
  AdaptiveK huge(Auto(1), UpdateTime::kLastOfWorkers);
  constexpr double kMost = std::numeric_limits<double>::max();
  for (int i = 0; i < 2'000; ++i) {
    fixed.Pushed(1.0 / (1 + i));
    negative.Pushed(-1.0 - i);
    huge.Pushed(i % 2 == 0 ? kMost : -kMost);
  }
  EXPECT_EQ(fixed.Of(8), 3);
  EXPECT_EQ(negative.Of(8), 1);
  EXPECT_GE(huge.Of(8), 1);
  EXPECT_LE(huge.Of(8), 8);
  // Few workers, or none.
  AdaptiveK many(Auto(6, 100), UpdateTime::kInProportion);
  for (int i = 0; i < 6; ++i) many.Pushed(0.01);
  EXPECT_EQ(many.Of(4), 6);
  EXPECT_EQ(many.Of(0), 6);
}

TEST(AdaptiveKTest, ALossOfNothingTakesEverybody) {
  for (const UpdateTime time :
       {UpdateTime::kLastOfWorkers, UpdateTime::kInProportion}) {
    AdaptiveK k(Auto(1, 2), time);
    k.Pushed(0);
    EXPECT_EQ(k.Of(7), 7);
  }
}

}  // namespace
}  // namespace paceline
