#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/simulated_job.h"
#include "tests/services/coordinator/sync/core/simulated_paradigms.h"

namespace paceline {
namespace {

using Paradigm = std::pair<std::string, std::optional<int64_t>>;

constexpr uint64_t kSeeds = 400;

class SyncCoreSimulationTest : public testing::TestWithParam<Paradigm> {};

// Whatever the speeds, delays and losses: the invariants of design.md 4 hold
// after every call, and the job ends.
TEST_P(SyncCoreSimulationTest, KeepsItsPromisesForEverySeed) {
  const auto& [spec, max_gap] = GetParam();
  SimulatedJob::Seen seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimulatedJob job({.seed = seed, .policy = spec, .max_gap = max_gap});
    job.Run();
    ASSERT_EQ(job.violation(), "") << spec << ", seed " << seed;
    for (const auto& [reason, n] : job.seen().losses) seen.losses[reason] += n;
    for (const auto& [kind, n] : job.seen().decisions)
      seen.decisions[kind] += n;
  }
  // Or the seeds would prove little.
  for (const LossReason reason :
       {LossReason::kStreamBroken, LossReason::kLeaseEnded, LossReason::kStuck,
        LossReason::kDeparted}) {
    EXPECT_GT(seen.losses[reason], 10) << Render(reason);
  }
  for (const DecisionKind kind :
       {DecisionKind::kLostPushTaken, DecisionKind::kRangeReturned,
        DecisionKind::kPartialPush, DecisionKind::kBlocksRefused,
        DecisionKind::kPushDiscarded, DecisionKind::kDealingStopped}) {
    EXPECT_GT(seen.decisions[kind], 5) << Render(Decision{kind});
  }
}

// From any paradigm to any other, at any moment, also under faults: nothing is
// lost or doubled, nobody is stuck, and the new bound holds from there on.
TEST(SwitchTest, KeepsThePromisesOfTheOldAndTheNewForEverySeed) {
  const std::vector<Paradigm>& paradigms = SimulatedParadigms();
  uint64_t switches = 0;
  uint64_t settled = 0;
  for (uint64_t seed = 0; switches < SeedCount(10'000); ++seed) {
    const auto& [spec, max_gap] = paradigms[seed % paradigms.size()];
    SimulatedJob job({.seed = seed,
                      .policy = spec,
                      .max_gap = max_gap,
                      .switch_among = paradigms});
    job.Run();
    ASSERT_EQ(job.violation(), "") << spec << ", seed " << seed;
    switches += job.seen().switches;
    settled += job.seen().settled;
  }
  // The others were overtaken by a further switch.
  EXPECT_GT(settled, switches / 2);
}

// Run twice and compare: catches a clock, a hash order or a pointer order that
// crept into the core.
TEST_P(SyncCoreSimulationTest, OneSeedGivesOneHistory) {
  const auto history_of = [](uint64_t seed) {
    SimulatedJob job({.seed = seed,
                      .policy = GetParam().first,
                      .max_gap = GetParam().second,
                      .keep_history = true});
    job.Run();
    return job.history();
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(history_of(seed), history_of(seed)) << seed;
    EXPECT_NE(history_of(seed), history_of(seed + 1)) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Paradigms, SyncCoreSimulationTest,
                         testing::ValuesIn(SimulatedParadigms()),
                         [](const testing::TestParamInfo<Paradigm>& paradigm) {
                           return ParadigmName(paradigm.param.first);
                         });

}  // namespace
}  // namespace paceline
