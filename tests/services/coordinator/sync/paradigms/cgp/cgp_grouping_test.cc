// CGP's grouping: the vectors of algorithms.md 3.6, and the exact and the
// greedy way against trying all divisions.

#include "services/coordinator/sync/paradigms/cgp/cgp_grouping.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/test_paths.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr size_t kAnyNumber = 10'000;  // Of groups.

TEST(CgpGroupingTest, EqualsTheVectors) {
  std::ifstream file(TestDataPath("paradigms.json"));
  const auto table = nlohmann::json::parse(file).at("cgp_grouping");
  ASSERT_EQ(table["cases"].size(), 5u);
  ASSERT_EQ(table["c"], 0) << "busy times alone make the periods";
  for (const auto& row : table["cases"]) {
    SCOPED_TRACE(row.dump());
    const std::vector<double> busy_s = row["tau"];
    const CgpGrouping grouping = GroupByPace(busy_s, row["beta"], kAnyNumber);
    std::vector<size_t> sizes;
    for (const auto& group : row["groups"]) sizes.push_back(group.size());
    EXPECT_EQ(grouping.sizes, sizes);
    EXPECT_NEAR(grouping.speed, row["S"], 5e-5);
    EXPECT_NEAR(grouping.missed, row["D"], 5e-5);
  }
}

TEST(CgpGroupingTest, EqualWorkersAreOneGroup) {
  for (const double beta : {0.0, 0.5, 1.0}) {
    const CgpGrouping all = GroupByPace({{1, 1, 1, 1}}, beta, kAnyNumber);
    EXPECT_THAT(all.sizes, ElementsAre(4));
    EXPECT_DOUBLE_EQ(all.speed, 4);
    EXPECT_DOUBLE_EQ(all.missed, 0);
  }
}

// D by its definition.
double Missed(const std::vector<double>& busy_s,
              const std::vector<size_t>& sizes) {
  const auto workers = static_cast<double>(busy_s.size());
  double missed = 0;
  size_t g_end = 0;
  for (size_t g = 0; g < sizes.size(); ++g) {
    g_end += sizes[g];
    size_t h_end = 0;
    for (size_t h = 0; h < sizes.size(); ++h) {
      h_end += sizes[h];
      if (g == h) continue;
      missed += static_cast<double>(sizes[g] * sizes[h]) / workers / workers *
                busy_s[g_end - 1] / busy_s[h_end - 1];
    }
  }
  return missed;
}

std::vector<double> DrawTimes(Rng& rng, size_t workers) {
  std::vector<double> busy_s;
  for (size_t i = 0; i < workers; ++i) {
    // Now and then equal ones.
    busy_s.push_back(rng.Chance(1, 2) ? static_cast<double>(1 + rng.Below(5))
                                      : 1 + 5 * rng.Unit());
  }
  std::sort(busy_s.begin(), busy_s.end());
  return busy_s;
}

// The best by its definition: least D, then greatest S, then fewest groups,
// then the smaller groups first.
CgpGrouping BestOfAll(const std::vector<double>& busy_s, double beta) {
  constexpr double kSame = 1e-9;
  const size_t workers = busy_s.size();
  CgpGrouping best;
  double alone = 0;
  for (const double time : busy_s) alone += 1 / time;
  for (uint32_t cuts = 0; cuts < 1u << (workers - 1); ++cuts) {
    std::vector<size_t> sizes = {1};
    for (size_t i = 0; i + 1 < workers; ++i) {
      if ((cuts >> i & 1) != 0) {
        sizes.push_back(1);
      } else {
        ++sizes.back();
      }
    }
    CgpGrouping one = EvaluateGrouping(busy_s, sizes);
    EXPECT_NEAR(one.missed, Missed(busy_s, sizes), kSame);
    if (one.speed < beta * alone - kSame) continue;
    const auto better = [&] {
      if (best.sizes.empty()) return true;
      if (std::abs(one.missed - best.missed) > kSame) {
        return one.missed < best.missed;
      }
      if (std::abs(one.speed - best.speed) > kSame) {
        return one.speed > best.speed;
      }
      if (sizes.size() != best.sizes.size()) {
        return sizes.size() < best.sizes.size();
      }
      return sizes < best.sizes;
    };
    if (better()) best = std::move(one);
  }
  return best;
}

TEST(CgpGroupingTest, IsTheBestOfAllDivisions) {
  Rng rng(1);
  for (int i = 0; i < 2'000; ++i) {
    const std::vector<double> busy_s = DrawTimes(rng, 1 + rng.Below(9));
    const double beta = static_cast<double>(rng.Below(21)) / 20;
    EXPECT_EQ(GroupByPace(busy_s, beta, kAnyNumber).sizes,
              BestOfAll(busy_s, beta).sizes)
        << i;
  }
}

double Alone(const std::vector<double>& busy_s) {
  double alone = 0;
  for (const double time : busy_s) alone += 1 / time;
  return alone;
}

TEST(CgpGreedyGroupingTest, KeepsTheSpeedAndIsNearlyAsGood) {
  Rng rng(2);
  double exact = 0;
  double greedy = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::vector<double> busy_s = DrawTimes(rng, 2 + rng.Below(10));
    const double beta = 0.5 + static_cast<double>(rng.Below(11)) / 20;
    const CgpGrouping one = GroupGreedily(busy_s, beta, kAnyNumber);
    const CgpGrouping best = GroupByPace(busy_s, beta, kAnyNumber);
    EXPECT_GE(one.speed, beta * Alone(busy_s) * (1 - 1e-9)) << i;
    EXPECT_GE(one.missed, best.missed - 1e-9) << i;
    exact += best.missed;
    greedy += one.missed;
  }
  RecordProperty("greedy_over_exact", absl::StrCat(greedy / exact));
  EXPECT_LT(greedy, 1.1 * exact);
}

TEST(CgpGreedyGroupingTest, TakesOverAboveSixteenWorkers) {
  const std::vector<double> equal(17, 2.0);
  EXPECT_THAT(GroupByPace(equal, 1, kAnyNumber).sizes, ElementsAre(17));
  // Three generations of devices.
  std::vector<double> busy_s;
  for (const double pace : {1.0, 2.0, 5.0}) {
    for (int i = 0; i < 40; ++i) busy_s.push_back(pace + 0.0005 * i);
  }
  const CgpGrouping grouping = GroupByPace(busy_s, 0.99, kAnyNumber);
  EXPECT_THAT(grouping.sizes, ElementsAre(40, 40, 40));
}

// More of them could not all gather in rounds of their own.
TEST(CgpGroupingTest, HasNoMoreGroupsThanThereMayBe) {
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    const std::vector<double> busy_s = DrawTimes(rng, 1 + rng.Below(40));
    const size_t most = 1 + rng.Below(14);
    for (const double beta : {0.5, 0.9, 1.0}) {
      const CgpGrouping grouping = GroupByPace(busy_s, beta, most);
      EXPECT_LE(grouping.sizes.size(), most);
      const CgpGrouping free = GroupByPace(busy_s, beta, kAnyNumber);
      if (free.sizes.size() <= most) {
        EXPECT_EQ(grouping.sizes, free.sizes) << i;
      }
    }
  }
  // The two that are nearest to each other.
  EXPECT_THAT(GroupByPace({{1, 2, 2.1, 4}}, 1, 3).sizes, ElementsAre(1, 2, 1));
}

TEST(CgpGreedyGroupingTest, KeepsTheSpeedOfAThousandWorkers) {
  Rng rng(3);
  for (int i = 0; i < 20; ++i) {
    const std::vector<double> busy_s = DrawTimes(rng, 1'000);
    for (const double beta : {0.0, 0.6, 0.9, 1.0}) {
      const CgpGrouping grouping = GroupByPace(busy_s, beta, kAnyNumber);
      EXPECT_GE(grouping.speed, beta * Alone(busy_s) * (1 - 1e-9));
      size_t workers = 0;
      for (const size_t size : grouping.sizes) workers += size;
      EXPECT_EQ(workers, 1'000u);
    }
  }
}

}  // namespace
}  // namespace paceline
