#include "common/security/stream_limiter.h"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(StreamLimiterTest, CountsWhatIsOpen) {
  StreamLimiter limiter(2);
  auto first = limiter.Open("a");
  auto second = limiter.Open("a");
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_FALSE(limiter.Open("a").has_value());
  EXPECT_TRUE(limiter.Open("b").has_value());
  EXPECT_EQ(limiter.open("b"), 0u);  // Its ticket is gone.
  first.reset();
  EXPECT_EQ(limiter.open("a"), 1u);
  EXPECT_TRUE(limiter.Open("a").has_value());
}

TEST(StreamLimiterTest, AMovedTicketCountsOnce) {
  StreamLimiter limiter(3);
  StreamTicket kept;
  {
    StreamTicket moved = *limiter.Open("a");
    StreamTicket other(std::move(moved));
    EXPECT_EQ(limiter.open("a"), 1u);
    kept = std::move(other);
  }
  EXPECT_EQ(limiter.open("a"), 1u);
  kept = *limiter.Open("b");
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
  for (int i = 0; i < 1000; ++i) tickets.push_back(*limiter.Open("a"));
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
        if (!ticket.has_value()) continue;
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
