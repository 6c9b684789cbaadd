// What always holds of the sync core, over thousands of seeds.
// PACELINE_SEEDS=1000 tries so many in each test, and PACELINE_FIRST_SEED=7
// begins with that one.

#include <string>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/output_text.h"
#include "tests/services/coordinator/sync/core/simulated_paradigms.h"
#include "tests/services/coordinator/sync/core/simulated_run.h"

namespace paceline {
namespace {

using Paradigm = std::pair<std::string, std::optional<int64_t>>;

class SyncCoreSimulationTest : public testing::TestWithParam<Paradigm> {
 protected:
  static const std::string& paradigm() { return GetParam().first; }
};

TEST_P(SyncCoreSimulationTest, KeepsItsPromisesForEverySeed) {
  SimulatedRuns runs;
  const Seeds seeds(SeedCount(500));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    runs.Run(FaultySpec(seed, paradigm()));
    ASSERT_EQ(runs.verdict, "") << paradigm() << ", seed " << seed;
  }
  if (seeds.count < 100) return;
  // Or the seeds would prove little.
  for (const LossReason reason :
       {LossReason::kStreamBroken, LossReason::kLeaseEnded, LossReason::kStuck,
        LossReason::kDeparted}) {
    EXPECT_GT(runs.losses[reason], 10) << Render(reason);
  }
  for (const DecisionKind kind :
       {DecisionKind::kLostPushTaken, DecisionKind::kRangeReturned,
        DecisionKind::kPartialPush, DecisionKind::kBlocksRefused,
        DecisionKind::kPushDiscarded, DecisionKind::kDealingStopped}) {
    EXPECT_GT(runs.decisions[kind], 5) << Render(Decision{kind});
  }
}

// More samples or fewer, even or balanced batches, while it runs and workers
// come and go: what it has then is counted once, and the job ends.
TEST_P(SyncCoreSimulationTest, OptionsChangeWhileItRunsForEverySeed) {
  SimulatedRuns runs;
  const Seeds seeds(SeedCount(125));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    ClusterSpec spec = FaultySpec(seed, paradigm());
    spec.faults.update = 200;
    runs.Run(spec);
    ASSERT_EQ(runs.verdict, "") << paradigm() << ", seed " << seed;
  }
}

// Every output, with its time.
class History : public ClusterObserver {
 public:
  void Decided(Nanos at, const RunOutput& output) override {
    absl::StrAppend(&text, at, " ", output.index(), " ");
    std::visit(
        [&](const auto& what) {
          using What = std::remove_cvref_t<decltype(what)>;
          if constexpr (std::is_constructible_v<Output, What>) {
            absl::StrAppend(&text, ToText(what));
          }
        },
        output);
    absl::StrAppend(&text, "\n");
  }

  std::string text;
};

// Run twice and compare: catches a clock, a hash order or a pointer order that
// crept into the core.
TEST_P(SyncCoreSimulationTest, OneSeedGivesOneHistory) {
  const auto history_of = [](uint64_t seed) {
    History history;
    SimulatedRuns().Run(FaultySpec(seed, paradigm()), &history);
    return history.text;
  };
  std::string before;
  for (uint64_t seed = 0; seed < SeedCount(25); ++seed) {
    const std::string history = history_of(seed);
    EXPECT_EQ(history, history_of(seed)) << seed;
    EXPECT_NE(history, before) << seed;
    before = history;
  }
}

INSTANTIATE_TEST_SUITE_P(Paradigms, SyncCoreSimulationTest,
                         testing::ValuesIn(SimulatedParadigms()),
                         [](const testing::TestParamInfo<Paradigm>& paradigm) {
                           return ParadigmName(paradigm.param.first);
                         });

// From any paradigm to any other, at any moment, also under faults: nothing is
// lost or doubled, nobody is stuck, and the new bound holds from there on.
TEST(SwitchTest, KeepsThePromisesOfTheOldAndTheNewForEverySeed) {
  const auto& paradigms = SimulatedParadigms();
  SimulatedRuns runs;
  const Seeds seeds(SeedCount(6000));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const std::string& paradigm = paradigms[seed % paradigms.size()].first;
    ClusterSpec spec = FaultySpec(seed, paradigm);
    spec.faults.change = 250;
    for (const auto& [text, gap] : paradigms) {
      spec.faults.paradigms.push_back(*ParseParadigm(text));
    }
    runs.Run(spec);
    ASSERT_EQ(runs.verdict, "") << paradigm << ", seed " << seed;
  }
  // Or the seeds would prove little. The others were overtaken by a further
  // switch, or by the end.
  EXPECT_GT(runs.switches, 3 * seeds.count);
  EXPECT_GT(runs.settled, runs.switches / 4);
}

}  // namespace
}  // namespace paceline
