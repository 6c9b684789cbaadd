#include "services/coordinator/sync/paradigms/dssp_controller.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "common/rng.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/test_paths.h"

namespace paceline {
namespace {

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

// (last, previous), in seconds.
PushTimes FromPair(double last, double previous) {
  return {.last_ns = Nanoseconds(last),
          .interval_ns = Nanoseconds(last) - Nanoseconds(previous)};
}

// Algorithm 2 word by word: all pairs, the smallest r and then k of the best.
Allowance NaiveChoice(const PushTimes& fast, const PushTimes& slow,
                      int64_t r_max, PairRule rule) {
  std::optional<Allowance> best;
  for (int64_t r = 0; r <= r_max; ++r) {
    for (int64_t k = 0; k <= r_max; ++k) {
      const int64_t fast_push = fast.last_ns + r * fast.interval_ns;
      const int64_t slow_push = slow.last_ns + (k + 1) * slow.interval_ns;
      if (rule == PairRule::kCausal && slow_push < fast_push) continue;
      const int64_t distance = std::abs(slow_push - fast_push);
      if (!best.has_value() || distance < best->distance_ns) {
        best = Allowance{r, k, distance};
      }
    }
  }
  return best.value_or(Allowance{});
}

TEST(DsspControllerTest, EqualsTheVectors) {
  std::ifstream file(TestDataPath("paradigms.json"));
  const auto vectors = nlohmann::json::parse(file).at("dssp_controller");
  ASSERT_EQ(vectors.size(), 11u);
  for (const auto& vector : vectors) {
    SCOPED_TRACE(vector.dump());
    const PushTimes fast = FromPair(vector["p"][0], vector["p"][1]);
    const PushTimes slow = FromPair(vector["slow"][0], vector["slow"][1]);
    const int64_t r_max = vector["r_max"];
    EXPECT_EQ(ChooseAllowance(fast, slow, r_max, PairRule::kAbsolute).r,
              vector["abs"].get<int64_t>());
    EXPECT_EQ(ChooseAllowance(fast, slow, r_max, PairRule::kCausal).r,
              vector["causal"].get<int64_t>());
  }
}

// The indices and distances that algorithms.md 2.8 also gives.
TEST(DsspControllerTest, NamesThePushThatItMeets) {
  const auto choose = [](const PushTimes& fast, const PushTimes& slow,
                         int64_t r_max) {
    return ChooseAllowance(fast, slow, r_max, PairRule::kAbsolute);
  };
  EXPECT_EQ(choose(FromPair(10, 9), FromPair(9.6, 7), 4),
            (Allowance{2, 0, Nanoseconds(0.2)}));
  EXPECT_EQ(choose(FromPair(100, 98.7), FromPair(99.1, 95.9), 12),
            (Allowance{9, 3, Nanoseconds(0.2)}));
  EXPECT_EQ(choose(FromPair(327, 222.5), FromPair(295, 114), 8),
            (Allowance{5, 2, Nanoseconds(11.5)}));
  EXPECT_EQ(choose(FromPair(50, 49), FromPair(44, 36.5), 4),
            (Allowance{1, 0, Nanoseconds(0.5)}));
}

TEST(DsspControllerTest, CausalWithoutAnAdmissiblePairStops) {
  // All pushes predicted of the slow worker are overdue.
  EXPECT_EQ(ChooseAllowance(FromPair(100, 99), FromPair(10, 9), 12,
                            PairRule::kCausal),
            Allowance{});
}

TEST(DsspControllerTest, PushesAtOneInstantAreNoSpecialCase) {
  const PushTimes instant{.last_ns = 5, .interval_ns = 0};
  EXPECT_EQ(ChooseAllowance(instant, instant, 3, PairRule::kAbsolute),
            (Allowance{0, 0, 0}));
  EXPECT_EQ(ChooseAllowance(instant, {.last_ns = 2, .interval_ns = 1}, 3,
                            PairRule::kAbsolute),
            (Allowance{0, 2, 0}));
}

TEST(DsspControllerTest, HugeIntervalsDoNotOverflow) {
  const int64_t year_ns = int64_t{366} * 24 * 3600 * 1'000'000'000;
  const PushTimes fast{.last_ns = 73 * year_ns, .interval_ns = 73 * year_ns};
  const PushTimes slow{.last_ns = 0, .interval_ns = 73 * year_ns};
  for (const PairRule rule : {PairRule::kAbsolute, PairRule::kCausal}) {
    const Allowance chosen = ChooseAllowance(fast, slow, 10'000, rule);
    EXPECT_GE(chosen.r, 0);
    EXPECT_LE(chosen.r, 10'000);
    EXPECT_GE(chosen.distance_ns, 0);
  }
}

// Small numbers, so that ties are frequent.
TEST(DsspControllerTest, EqualsItsNaiveTwin) {
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    Rng rng(seed);
    const auto below = [&rng](uint64_t bound) {
      return static_cast<int64_t>(rng.Below(bound));
    };
    const int64_t scale = rng.Chance(1, 2) ? 20 : 5'000'000'000;
    const PushTimes fast{below(scale), below(scale)};
    const PushTimes slow{below(2 * scale) - scale, below(4 * scale)};
    const int64_t r_max = below(25);
    for (const PairRule rule : {PairRule::kAbsolute, PairRule::kCausal}) {
      ASSERT_EQ(ChooseAllowance(fast, slow, r_max, rule),
                NaiveChoice(fast, slow, r_max, rule))
          << "seed " << seed << " causal " << (rule == PairRule::kCausal);
    }
  }
}

}  // namespace
}  // namespace paceline
