#include "services/worker/pull_forecast.h"

#include <optional>

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(PullForecastTest, ForetellsTheNextClosingAfterTwoInARow) {
  PullForecast forecast;
  EXPECT_EQ(forecast.Next(), std::nullopt);
  EXPECT_FALSE(forecast.Take(5, 7));
  EXPECT_EQ(forecast.Next(), std::nullopt);
  EXPECT_FALSE(forecast.Take(6, 8));
  EXPECT_EQ(forecast.Next(), std::nullopt);
  EXPECT_FALSE(forecast.Take(7, 9));
  for (int64_t closing = 8; closing < 20; ++closing) {
    EXPECT_EQ(forecast.Next(), closing);
    EXPECT_TRUE(forecast.Take(closing, closing + 2));
  }
}

// As under the rules without rounds.
TEST(PullForecastTest, ForetellsNothingWhereNoClosingsAre) {
  PullForecast forecast;
  for (int64_t version = 0; version < 20; ++version) {
    EXPECT_FALSE(forecast.Take(0, version));
    EXPECT_EQ(forecast.Next(), std::nullopt);
  }
}

TEST(PullForecastTest, AnotherClosingOrAnotherUpdateIsNotWhatItForetold) {
  struct Case {
    int64_t closing;
    int64_t base_version;
  };
  for (const Case& next : {Case{2, 2}, Case{4, 4}, Case{3, 4}, Case{1, 3}}) {
    PullForecast forecast;
    for (int64_t closing = 0; closing <= 2; ++closing) {
      forecast.Take(closing, closing);
    }
    ASSERT_EQ(forecast.Next(), 3);
    EXPECT_FALSE(forecast.Take(next.closing, next.base_version));
    EXPECT_EQ(forecast.Next(), std::nullopt);
  }
}

TEST(PullForecastTest, EachErrorDoublesWhatItNeedsUpTo64) {
  PullForecast forecast;
  int64_t closing = 0;
  forecast.Take(closing, closing);
  for (const int needed : {2, 4, 8, 16, 32, 64, 64, 64}) {
    for (int i = 0; i < needed; ++i) {
      EXPECT_EQ(forecast.Next(), std::nullopt) << i << " of " << needed;
      ++closing;
      forecast.Take(closing, closing);
    }
    EXPECT_EQ(forecast.Next(), closing + 1);
    closing += 2;
    EXPECT_FALSE(forecast.Take(closing, closing));
  }
}

}  // namespace
}  // namespace paceline
