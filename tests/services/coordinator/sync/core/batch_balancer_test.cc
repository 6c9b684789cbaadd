#include "services/coordinator/sync/core/batch_balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "common/rng.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct SplitCase {
  uint64_t total;
  std::vector<double> weights;
  uint32_t least;
  uint32_t most;
  std::vector<uint32_t> want;
};

TEST(SplitInProportionTest, Table) {
  const SplitCase cases[] = {
      {128, {1, 1, 1, 1}, 4, 128, {32, 32, 32, 32}},
      {128, {4, 4, 4, 1}, 4, 128, {40, 39, 39, 10}},
      {10, {1, 1, 1}, 1, 10, {4, 3, 3}},
      // A limit takes, and the others share what is left.
      {100, {98, 1, 1}, 10, 100, {80, 10, 10}},
      {100, {98, 1, 1}, 1, 50, {50, 25, 25}},
      // A share that a limit raises can push the next one below it.
      {30, {20, 9.5, 0.5}, 9, 30, {12, 9, 9}},
      {3, {5, 1, 1}, 1, 3, {1, 1, 1}},
      {12, {1, 2, 3}, 4, 4, {4, 4, 4}},
  };
  for (const SplitCase& c : cases) {
    EXPECT_EQ(SplitInProportion(c.total, c.weights, c.least, c.most), c.want)
        << c.total;
  }
}

TEST(SplitInProportionTest, KeepsSumAndLimitsForEverySeed) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Rng rng(seed);
    std::vector<double> weights(1 + rng.Below(20));
    for (double& weight : weights) {
      weight = 1e-3 + static_cast<double>(rng.Below(1'000'000));
    }
    const auto batch = static_cast<uint32_t>(1 + rng.Below(256));
    const uint32_t least = std::max<uint32_t>(1, batch / 8);
    const std::vector<uint32_t> parts = SplitInProportion(
        uint64_t{batch} * weights.size(), weights, least, 4 * batch);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), uint64_t{0}),
              uint64_t{batch} * weights.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_GE(parts[i], least);
      EXPECT_LE(parts[i], 4 * batch);
      for (size_t k = 0; k < parts.size(); ++k) {
        // One more by rounding at most.
        if (weights[i] > weights[k]) {
          EXPECT_GE(parts[i] + 1, parts[k]) << seed;
        }
      }
    }
  }
}

// Workers whose iteration takes a fixed cost and a time for each sample.
std::vector<uint32_t> Converge(BatchBalancer& balancer,
                               const std::vector<double>& ms_a_sample,
                               double fixed_ms, int rounds) {
  std::vector<uint32_t> sizes;
  for (int round = 0; round < rounds; ++round) {
    sizes.clear();
    for (uint32_t i = 0; i < ms_a_sample.size(); ++i) {
      sizes.push_back(balancer.SizeFor(WorkerId{i}));
    }
    for (uint32_t i = 0; i < ms_a_sample.size(); ++i) {
      balancer.Pushed(WorkerId{i},
                      absl::Milliseconds(fixed_ms + ms_a_sample[i] * sizes[i]),
                      sizes[i]);
    }
  }
  return sizes;
}

TEST(BatchBalancerTest, EvenUntilAllAreMeasured) {
  BatchBalancer balancer(Batching::kBalanced, 32);
  for (uint32_t i = 0; i < 3; ++i) balancer.Join(WorkerId{i});
  EXPECT_THAT(Converge(balancer, {1, 1, 4}, 0, 2), ElementsAre(32, 32, 32));
  EXPECT_EQ(balancer.SizeFor(WorkerId{2}), 11u);  // 96 * (1/4) / (9/4), up.
  balancer.Join(WorkerId{3});
  EXPECT_EQ(balancer.SizeFor(WorkerId{2}), 32u);
}

TEST(BatchBalancerTest, EqualizesWholeTimesFixedCostsIncluded) {
  BatchBalancer balancer(Batching::kBalanced, 32);
  const std::vector<double> ms = {0.5, 0.5, 0.5, 2};
  for (uint32_t i = 0; i < 4; ++i) balancer.Join(WorkerId{i});
  const std::vector<uint32_t> sizes = Converge(balancer, ms, 3, 100);
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0u), 128u);
  double shortest = 1e9;
  double longest = 0;
  for (size_t i = 0; i < ms.size(); ++i) {
    shortest = std::min(shortest, 3 + ms[i] * sizes[i]);
    longest = std::max(longest, 3 + ms[i] * sizes[i]);
  }
  EXPECT_LT(longest, 1.15 * shortest) << "within the rounding of samples";
}

TEST(BatchBalancerTest, EvenStaysEven) {
  BatchBalancer balancer(Batching::kEven, 32);
  balancer.Join(WorkerId{0});
  balancer.Join(WorkerId{1});
  EXPECT_THAT(balancer.Paces(), IsEmpty());
  EXPECT_THAT(Converge(balancer, {1, 9}, 0, 20), ElementsAre(32, 32));
  // But the paces are known.
  ASSERT_THAT(balancer.Paces(), SizeIs(2));
  const Pace pace = balancer.Paces().at(WorkerId{1});
  EXPECT_NEAR(pace.seconds_each, 0.009, 1e-9);
  EXPECT_NEAR(pace.busy_s(), 32 * 0.009, 1e-9);
  balancer.SetBatching(Batching::kBalanced);
  EXPECT_EQ(balancer.SizeFor(WorkerId{1}), 6u);  // 64 * (1/9) / (10/9), down.
  EXPECT_EQ(balancer.Paces().at(WorkerId{1}).samples, 6u);
}

TEST(BatchBalancerTest, WhoLeavesIsSharedByTheOthers) {
  BatchBalancer balancer(Batching::kBalanced, 32);
  for (uint32_t i = 0; i < 3; ++i) balancer.Join(WorkerId{i});
  Converge(balancer, {1, 1, 4}, 0, 10);
  balancer.Leave(WorkerId{2});
  EXPECT_EQ(balancer.SizeFor(WorkerId{0}), 32u);
  EXPECT_EQ(balancer.SizeFor(WorkerId{1}), 32u);
}

// Under K-sync a lasting straggler never finishes: the others are balanced all
// the same, and it counts as no faster than what it was seen to be.
TEST(BatchBalancerTest, WhoIsAlwaysToldToDropKeepsNobodyEven) {
  BatchBalancer balancer(Batching::kBalanced, 32);
  for (uint32_t i = 0; i < 3; ++i) balancer.Join(WorkerId{i});
  for (int push = 0; push < 2; ++push) {
    balancer.Pushed(WorkerId{0}, absl::Seconds(1), 32);
    balancer.Pushed(WorkerId{1}, absl::Seconds(3), 32);
  }
  EXPECT_EQ(balancer.SizeFor(WorkerId{0}), 32u);  // The third is not known.
  balancer.Abandoned(WorkerId{2}, absl::Seconds(3));
  EXPECT_EQ(balancer.SizeFor(WorkerId{0}), 58u);
  EXPECT_EQ(balancer.SizeFor(WorkerId{1}), 19u);
  EXPECT_EQ(balancer.SizeFor(WorkerId{2}), 19u);
  // Sooner than it was known to need: says nothing.
  balancer.Abandoned(WorkerId{2}, absl::Seconds(1));
  EXPECT_EQ(balancer.SizeFor(WorkerId{0}), 58u);
}

}  // namespace
}  // namespace paceline
