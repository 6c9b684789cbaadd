#include "services/simulator/shared_link.h"

#include <map>
#include <vector>

#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Nanos kWholeSecond = 1'000'000'000;

TEST(SharedLinkTest, OneAloneGetsAllOfIt) {
  SharedLink link(100);
  EXPECT_EQ(link.NextEnd(), kNever);
  link.Begin(7, 3, 50, SharedLink::kUnlimited);
  EXPECT_EQ(link.NextEnd(), 7 + kWholeSecond / 2);
  EXPECT_THAT(link.TakeEnded(6 + kWholeSecond / 2), IsEmpty());
  EXPECT_THAT(link.TakeEnded(7 + kWholeSecond / 2), ElementsAre(3));
  EXPECT_EQ(link.NextEnd(), kNever);
}

TEST(SharedLinkTest, EqualOnesAtOnceTakeSoManyTimesAsLong) {
  for (uint32_t n = 1; n <= 40; ++n) {
    SharedLink link(1e9);
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < n; ++i) {
      link.Begin(0, n - i, 1e7, SharedLink::kUnlimited);
      all.push_back(i + 1);
    }
    EXPECT_EQ(link.NextEnd(), int64_t{n} * 10'000'000);
    EXPECT_EQ(link.TakeEnded(link.NextEnd()), all);
  }
}

TEST(SharedLinkTest, WhatASlowSideLeavesIsForTheOthers) {
  SharedLink link(100);
  link.Begin(0, 1, 90, SharedLink::kUnlimited);
  link.Begin(0, 2, 10, 10);
  EXPECT_EQ(link.NextEnd(), kWholeSecond);  // 90 and 10 bytes a second.
  EXPECT_THAT(link.TakeEnded(kWholeSecond), ElementsAre(1, 2));
}

TEST(SharedLinkTest, WhoComesLaterHalvesWhatIsLeft) {
  SharedLink link(100);
  link.Begin(0, 1, 100, SharedLink::kUnlimited);
  link.Begin(kWholeSecond / 2, 2, 100, SharedLink::kUnlimited);
  EXPECT_EQ(link.NextEnd(), kWholeSecond * 3 / 2);
  EXPECT_THAT(link.TakeEnded(kWholeSecond * 3 / 2), ElementsAre(1));
  // It has half of its bytes, and all of the link now.
  EXPECT_EQ(link.NextEnd(), kWholeSecond * 2);
}

TEST(SharedLinkTest, WhatIsBrokenOffGivesItsPartBack) {
  SharedLink link(100);
  link.Begin(0, 1, 100, SharedLink::kUnlimited);
  link.Begin(0, 2, 100, SharedLink::kUnlimited);
  link.Stop(kWholeSecond, 2);
  link.Stop(kWholeSecond, 5);  // Is not under way.
  EXPECT_EQ(link.NextEnd(), kWholeSecond * 3 / 2);
}

// Whatever comes and goes: nothing is faster than its side or the link, a link
// that could be full is full, and what ends has had all of its bytes.
TEST(SharedLinkTest, AThousandSeedsKeepWhatItPromises) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Rng rng(seed);
    const double rate = 1e6 * static_cast<double>(1 + rng.Below(1000));
    SharedLink link(rate);
    std::map<uint32_t, double> bytes;
    std::map<uint32_t, double> most;
    std::map<uint32_t, Nanos> began;
    double carried = 0;  // Of those that ended.
    Nanos now = 0;
    uint32_t next = 0;
    for (int step = 0; step < 60; ++step) {
      const bool begins = bytes.empty() || (step < 40 && rng.Below(2) == 0);
      if (begins) {
        // Not beyond the next end.
        const Nanos later = now + static_cast<Nanos>(rng.Below(5'000'000));
        now = std::min(later, link.NextEnd());
        bytes[next] = static_cast<double>(1 + rng.Below(10'000'000));
        most[next] = rng.Below(3) == 0
                         ? SharedLink::kUnlimited
                         : rate / static_cast<double>(1 + rng.Below(8));
        began[next] = now;
        link.Begin(now, next, bytes[next], most[next]);
        ++next;
        continue;
      }
      ASSERT_LT(link.NextEnd(), kNever) << seed;
      now = link.NextEnd();
      const std::vector<uint32_t> ended = link.TakeEnded(now);
      ASSERT_FALSE(ended.empty()) << seed;
      for (const uint32_t one : ended) {
        const double seconds = ToSeconds(now - began[one] + 1);
        EXPECT_GE(seconds * std::min(most[one], rate), bytes[one] - 0.01)
            << seed;
        carried += bytes[one];
        bytes.erase(one);
      }
      EXPECT_LE(carried, rate * ToSeconds(now + 1) + 1) << seed;
    }
  }
}

}  // namespace
}  // namespace paceline
