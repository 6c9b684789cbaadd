#include "common/security/rate_limiter.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

struct Step {
  double at;
  const char* identity;
  double wait;  // 0: admitted.
};

TEST(RateLimiterTest, Table) {
  RateLimiter limiter({.per_second = 2, .burst = 3, .max_identities = 10});
  const Step steps[] = {
      {0, "a", 0},        // Three at once,
      {0, "a", 0},        //
      {0, "a", 0},        //
      {0, "a", 0.5},      // then one each half second.
      {0.25, "a", 0.25},  //
      {0.25, "b", 0},     // Another is not touched.
      {0.5, "a", 0},      //
      {0.5, "a", 0.5},    //
      {0.4, "a", 0.5},    // Time that runs back stands still.
      {100, "a", 0},      // A long rest gives the burst, not more.
      {100, "a", 0},      //
      {100, "a", 0},      //
      {100, "a", 0.5},    //
  };
  for (const Step& step : steps) {
    const absl::Duration wait = limiter.Take(step.identity, At(step.at));
    EXPECT_NEAR(absl::ToDoubleSeconds(wait), step.wait, 1e-5)
        << step.identity << " at " << step.at;
  }
}

TEST(RateLimiterTest, ZeroPerSecondIsNoLimit) {
  RateLimiter limiter({.per_second = 0});
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(limiter.Take("a", At(0)), absl::ZeroDuration());
  }
  EXPECT_EQ(limiter.identities(), 0u);
}

TEST(RateLimiterTest, ForgetsWhoeverHasBeenQuietForLongest) {
  RateLimiter limiter({.per_second = 1, .burst = 1, .max_identities = 2});
  EXPECT_EQ(limiter.Take("a", At(0)), absl::ZeroDuration());
  EXPECT_EQ(limiter.Take("b", At(0)), absl::ZeroDuration());
  EXPECT_GT(limiter.Take("a", At(0)), absl::ZeroDuration());
  EXPECT_EQ(limiter.Take("c", At(0)), absl::ZeroDuration());  // Without b.
  EXPECT_EQ(limiter.identities(), 2u);
  EXPECT_GT(limiter.Take("a", At(0)), absl::ZeroDuration());
  EXPECT_GT(limiter.Take("c", At(0)), absl::ZeroDuration());
}

// Of every random history: nobody gets more than burst + rate * time in any
// span that begins with the first request, who comes again when told is let
// in, and memory is bounded.
TEST(RateLimiterTest, Seeds) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(seed);
    const double rate = 1 + static_cast<double>(rng.Below(50));
    const double burst = 1 + static_cast<double>(rng.Below(20));
    RateLimiter limiter(
        {.per_second = rate, .burst = burst, .max_identities = 5});
    std::map<std::string, std::vector<double>> admitted;
    double now = 0;
    for (int i = 0; i < 500; ++i) {
      now += static_cast<double>(rng.Below(100)) / 1000;
      const std::string who = absl::StrCat("w", rng.Below(5));
      const absl::Duration wait = limiter.Take(who, At(now));
      if (wait > absl::ZeroDuration()) {
        if (!rng.Chance(1, 3)) continue;
        now += absl::ToDoubleSeconds(wait);
        ASSERT_EQ(limiter.Take(who, At(now)), absl::ZeroDuration());
      }
      admitted[who].push_back(now);
    }
    ASSERT_LE(limiter.identities(), 5u);
    for (const auto& [who, times] : admitted) {
      for (size_t begin = 0; begin < times.size(); ++begin) {
        for (size_t end = begin; end < times.size(); ++end) {
          ASSERT_LE(end - begin + 1.0,
                    burst + rate * (times[end] - times[begin]) + 1e-3)
              << who;
        }
      }
    }
  }
}

TEST(StreamLimiterTest, CountsWhatIsOpen) {
  StreamLimiter limiter(2);
  auto first = limiter.Open("a");
  auto second = limiter.Open("a");
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(limiter.Open("a"), nullptr);
  EXPECT_NE(limiter.Open("b"), nullptr);
  EXPECT_EQ(limiter.open("b"), 0u);  // Its ticket is gone.
  first.reset();
  EXPECT_EQ(limiter.open("a"), 1u);
  EXPECT_NE(limiter.Open("a"), nullptr);
}

TEST(StreamLimiterTest, AMovedTicketCountsOnce) {
  StreamLimiter limiter(3);
  StreamTicket kept;
  {
    StreamTicket moved = limiter.Open("a");
    StreamTicket other(std::move(moved));
    EXPECT_EQ(limiter.open("a"), 1u);
    kept = std::move(other);
  }
  EXPECT_EQ(limiter.open("a"), 1u);
  kept = limiter.Open("b");
  EXPECT_EQ(limiter.open("a"), 0u);
  EXPECT_EQ(limiter.open("b"), 1u);
}

TEST(StreamLimiterTest, ATicketMayOutliveTheLimiter) {
  auto limiter = std::make_unique<StreamLimiter>(1);
  auto ticket = limiter->Open("a");
  limiter.reset();
  ticket.reset();
}

TEST(StreamLimiterTest, ZeroIsNoLimit) {
  StreamLimiter limiter(0);
  std::vector<StreamTicket> tickets;
  for (int i = 0; i < 1000; ++i) tickets.push_back(limiter.Open("a"));
  EXPECT_EQ(limiter.open("a"), 1000u);
}

TEST(StreamLimiterTest, ManyThreads) {
  StreamLimiter limiter(3);
  std::atomic<int> open = 0;
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        auto ticket = limiter.Open("a");
        if (ticket == nullptr) continue;
        EXPECT_LE(++open, 3);
        ++admitted;
        --open;
        ticket.reset();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(admitted.load(), 0);
  EXPECT_EQ(limiter.open("a"), 0u);
}

}  // namespace

}  // namespace paceline
