#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/simulated_job.h"

namespace paceline {
namespace {

struct Paradigm {
  std::string name;
  std::string spec;
  std::optional<int64_t> max_gap;
};

// For GoogleTest's messages.
void PrintTo(const Paradigm& paradigm, std::ostream* out) {
  *out << paradigm.spec;
}

constexpr uint64_t kSeeds = 400;

class SyncCoreSimulationTest : public testing::TestWithParam<Paradigm> {};

// Whatever the speeds, delays and losses: the invariants of design.md 4 hold
// after every call, and the job ends.
TEST_P(SyncCoreSimulationTest, KeepsItsPromisesForEverySeed) {
  SimulatedJob::Seen seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimulatedJob job({.seed = seed,
                      .policy = GetParam().spec,
                      .max_gap = GetParam().max_gap});
    job.Run();
    ASSERT_EQ(job.violation(), "") << GetParam().spec << ", seed " << seed;
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
  const std::vector<std::pair<std::string, std::optional<int64_t>>> paradigms =
      {{"bsp", 1},
       {"asp", std::nullopt},
       {"ssp:s=0", 1},
       {"ssp:s=3", 4},
       {"dssp:lower=1,upper=4", std::nullopt},
       {"dssp:lower=1,upper=4,mode=bounded", 5},
       {"asp:staleness_weight=exponential,staleness_cap=9", std::nullopt},
       {"saps", std::nullopt},
       {"saps:mode=damp", std::nullopt},
       {"saps:mode=drop,starve_limit=3", std::nullopt},
       {"ksync:k=2", std::nullopt},
       {"kbatchsync:k=3", std::nullopt},
       {"backup:b=1", std::nullopt},
       {"kasync:k=2", std::nullopt},
       {"kbatchasync:k=3", std::nullopt},
       {"kasync:k=2,staleness_weight=inverse,staleness_cap=1", std::nullopt},
       {"psp:beta=1,s=2", std::nullopt},
       {"elastic:r=5", std::nullopt},
       {"abs:pieces=4", std::nullopt},
       {"cgp:warmup_rounds=1,regroup_every=4", std::nullopt},
       {"cgp:warmup_rounds=1,stale_weight=inverse,s_max=3", std::nullopt},
       {"syncswitch:first=bsp,then=ssp:s=1,at=0.3", std::nullopt}};
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
                      .policy = GetParam().spec,
                      .max_gap = GetParam().max_gap,
                      .keep_history = true});
    job.Run();
    return job.history();
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(history_of(seed), history_of(seed)) << seed;
    EXPECT_NE(history_of(seed), history_of(seed + 1)) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, SyncCoreSimulationTest,
    testing::Values(
        Paradigm{"bsp", "bsp", 1}, Paradigm{"asp", "asp", std::nullopt},
        Paradigm{"ssp_0", "ssp:s=0", 1}, Paradigm{"ssp_3", "ssp:s=3", 4},
        Paradigm{"dssp_paper", "dssp:lower=1,upper=4", std::nullopt},
        Paradigm{"dssp_exact",
                 "dssp:lower=1,upper=4,mode=exact,interval=busy,rule=causal",
                 std::nullopt},
        Paradigm{"dssp_bounded", "dssp:lower=1,upper=4,mode=bounded", 5},
        Paradigm{"dssp_within",
                 "dssp:lower=0,upper=3,mode=bounded,fastest=within:2", 4},
        Paradigm{"asp_weighted", "asp:staleness_weight=inverse,staleness_cap=6",
                 std::nullopt},
        Paradigm{"saps_refresh", "saps", std::nullopt},
        Paradigm{"saps_damp", "saps:mode=damp", std::nullopt},
        Paradigm{"saps_drop", "saps:mode=drop,starve_limit=3", std::nullopt},
        Paradigm{"ksync", "ksync:k=2", std::nullopt},
        Paradigm{"kbatchsync", "kbatchsync:k=3", std::nullopt},
        Paradigm{"backup", "backup:b=1", std::nullopt},
        Paradigm{"kasync", "kasync:k=2", std::nullopt},
        Paradigm{"kbatchasync", "kbatchasync:k=3", std::nullopt},
        Paradigm{"psp", "psp:beta=1,s=2,seed=7", std::nullopt},
        Paradigm{"elastic", "elastic:r=5", std::nullopt},
        Paradigm{"abs", "abs:pieces=4", std::nullopt},
        Paradigm{"cgp", "cgp:warmup_rounds=1,regroup_every=4", std::nullopt},
        Paradigm{"cgp_impatient",
                 "cgp:warmup_rounds=1,beta=0.5,patience=1,drift=0",
                 std::nullopt},
        Paradigm{"cgp_weighted",
                 "cgp:warmup_rounds=1,stale_weight=inverse,s_max=3",
                 std::nullopt},
        Paradigm{"syncswitch",
                 "syncswitch:first=bsp,then=asp,at=0.3,straggler=leave",
                 std::nullopt}),
    [](const testing::TestParamInfo<Paradigm>& paradigm) {
      return paradigm.param.name;
    });

}  // namespace
}  // namespace paceline
