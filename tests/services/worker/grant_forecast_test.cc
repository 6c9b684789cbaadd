#include "services/worker/grant_forecast.h"

#include <functional>
#include <optional>

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr uint32_t kBatch = 8;

v1::Grant ClosingGrant(int64_t closing, int64_t base_version) {
  v1::Grant grant;
  grant.set_iteration(closing + 1);
  grant.set_closing(closing);
  grant.set_base_version(base_version);
  return grant;
}

TEST(GrantForecastTest, ForetellsTheNextClosingAfterTwoInARow) {
  GrantForecast forecast;
  EXPECT_EQ(forecast.Closing(), std::nullopt);
  EXPECT_FALSE(forecast.Take(ClosingGrant(5, 7)));
  EXPECT_EQ(forecast.Closing(), std::nullopt);
  EXPECT_FALSE(forecast.Take(ClosingGrant(6, 8)));
  EXPECT_EQ(forecast.Closing(), std::nullopt);
  EXPECT_FALSE(forecast.Take(ClosingGrant(7, 9)));
  for (int64_t closing = 8; closing < 20; ++closing) {
    EXPECT_EQ(forecast.Closing(), closing);
    EXPECT_EQ(forecast.Next(), std::nullopt) << "nothing is reserved";
    EXPECT_TRUE(forecast.Take(ClosingGrant(closing, closing + 2)));
  }
}

// As under the rules without rounds.
TEST(GrantForecastTest, ForetellsNothingWhereNoClosingsAre) {
  GrantForecast forecast;
  for (int64_t version = 0; version < 20; ++version) {
    EXPECT_FALSE(forecast.Take(ClosingGrant(0, version)));
    EXPECT_EQ(forecast.Closing(), std::nullopt);
  }
}

TEST(GrantForecastTest, AnotherClosingOrAnotherUpdateIsNotWhatItForetold) {
  struct Case {
    int64_t closing;
    int64_t base_version;
  };
  for (const Case& next : {Case{2, 2}, Case{4, 4}, Case{3, 4}, Case{1, 3}}) {
    GrantForecast forecast;
    for (int64_t closing = 0; closing <= 2; ++closing) {
      forecast.Take(ClosingGrant(closing, closing));
    }
    ASSERT_EQ(forecast.Closing(), 3);
    EXPECT_FALSE(forecast.Take(ClosingGrant(next.closing, next.base_version)));
    EXPECT_EQ(forecast.Closing(), std::nullopt);
  }
}

TEST(GrantForecastTest, EachErrorDoublesWhatItNeedsUpTo64) {
  GrantForecast forecast;
  int64_t closing = 0;
  forecast.Take(ClosingGrant(closing, closing));
  for (const int needed : {2, 4, 8, 16, 32, 64, 64, 64}) {
    for (int i = 0; i < needed; ++i) {
      EXPECT_EQ(forecast.Closing(), std::nullopt) << i << " of " << needed;
      ++closing;
      forecast.Take(ClosingGrant(closing, closing));
    }
    EXPECT_EQ(forecast.Closing(), closing + 1);
    closing += 2;
    EXPECT_FALSE(forecast.Take(ClosingGrant(closing, closing)));
  }
}

v1::SampleRange Range(uint32_t epoch, uint32_t begin, uint32_t end) {
  v1::SampleRange range;
  range.set_epoch(epoch);
  range.set_begin(begin);
  range.set_end(end);
  return range;
}

// Grants of a worker that has two batches reserved, one round after the other.
class Dealt {
 public:
  v1::Grant Next() {
    v1::Grant grant = ClosingGrant(closing_, closing_);
    *grant.mutable_range() = Range(0, begin_, begin_ + kBatch);
    begin_ += kBatch;
    *grant.add_reserved() =
        Range(0, closing_ == 0 ? begin_ : begin_ + kBatch, begin_ + 2 * kBatch);
    grant.mutable_plan()->set_round(100 + closing_);
    grant.set_rate(0.1 * static_cast<double>(closing_));
    grant.set_micro_batch(4);
    ++closing_;
    return grant;
  }
  uint32_t begin() const { return begin_; }

 private:
  int64_t closing_ = 0;
  uint32_t begin_ = 0;
};

TEST(GrantForecastTest, ForetellsTheWholeGrantFromWhatIsReserved) {
  GrantForecast forecast;
  Dealt dealt;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(forecast.Next(), std::nullopt) << i;
    forecast.Take(dealt.Next());
  }
  for (int i = 0; i < 20; ++i) {
    const std::optional<v1::Grant> foretold = forecast.Next();
    ASSERT_TRUE(foretold.has_value());
    const v1::Grant grant = dealt.Next();
    EXPECT_TRUE(GrantForecast::Fits(grant, *foretold));
    EXPECT_EQ(foretold->range().begin() + kBatch, dealt.begin());
    EXPECT_EQ(foretold->reserved_size(), 0);
    EXPECT_TRUE(foretold->plan().has_round());
    EXPECT_TRUE(forecast.Take(grant));
  }
}

TEST(GrantForecastTest, NothingIsForetoldOfWhatWasWithdrawnOrIsTooLittle) {
  GrantForecast forecast;
  Dealt dealt;
  for (int i = 0; i < 3; ++i) forecast.Take(dealt.Next());
  ASSERT_TRUE(forecast.Next().has_value());
  forecast.DropReserved();
  EXPECT_EQ(forecast.Next(), std::nullopt);
  // At an epoch's end.
  v1::Grant last = dealt.Next();
  last.clear_reserved();
  *last.add_reserved() = Range(0, dealt.begin(), dealt.begin() + kBatch - 1);
  *last.add_reserved() = Range(1, 0, 100);
  forecast.Take(last);
  EXPECT_EQ(forecast.Next(), std::nullopt);
}

TEST(GrantForecastTest, EveryFieldThatAStepDependsOnMustFit) {
  GrantForecast forecast;
  Dealt dealt;
  for (int i = 0; i < 3; ++i) forecast.Take(dealt.Next());
  const v1::Grant foretold = *forecast.Next();
  const v1::Grant grant = dealt.Next();
  ASSERT_TRUE(GrantForecast::Fits(grant, foretold));
  using Change = std::function<void(v1::Grant&)>;
  const Change changes[] = {
      [](v1::Grant& of) { of.set_iteration(of.iteration() + 1); },
      [](v1::Grant& of) { of.set_closing(of.closing() + 1); },
      [](v1::Grant& of) { of.set_base_version(of.base_version() + 1); },
      [](v1::Grant& of) { of.set_micro_batch(of.micro_batch() + 1); },
      [](v1::Grant& of) { of.mutable_range()->set_end(of.range().end() - 1); },
      [](v1::Grant& of) { of.mutable_range()->set_epoch(1); },
      [](v1::Grant& of) { of.mutable_range()->set_parts(2); },
      [](v1::Grant& of) { of.mutable_plan()->set_ask(true); },
      [](v1::Grant& of) { of.mutable_plan()->set_immediate_rate(0.1); },
      [](v1::Grant& of) { of.mutable_plan()->set_compensation(0.1F); },
  };
  for (const Change& change : changes) {
    v1::Grant other = grant;
    change(other);
    EXPECT_FALSE(GrantForecast::Fits(other, foretold)) << other.DebugString();
  }
  // They are known with the grant, which is soon enough.
  v1::Grant other = grant;
  other.set_rate(7);
  other.mutable_plan()->set_round(7);
  other.clear_reserved();
  EXPECT_TRUE(GrantForecast::Fits(other, foretold));
}

// As with batches that are divided anew each round.
TEST(GrantForecastTest, AnErrorDoublesWhatTheWholeNeeds) {
  GrantForecast forecast;
  Dealt dealt;
  int believed = 0;
  for (int i = 0; i < 1000; ++i) {
    v1::Grant grant = dealt.Next();
    if (i % 4 == 3) grant.set_micro_batch(5);
    if (forecast.Next().has_value()) ++believed;
    forecast.Take(grant);
  }
  EXPECT_LT(believed, 5);
}

}  // namespace
}  // namespace paceline
