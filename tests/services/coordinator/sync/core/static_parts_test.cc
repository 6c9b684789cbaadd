// Where each worker has a part of the data: what always holds, over thousands
// of seeds in which members die, leave, freeze and join. HistoryChecker knows
// whose each sample is, that each of those that are wanted is counted once, and
// that nobody waits for samples of its own or nobody's.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/simulated_paradigms.h"
#include "tests/services/coordinator/sync/core/simulated_run.h"

namespace paceline {
namespace {

// All but those that no job may have together with parts.
std::vector<std::string> Paradigms() {
  std::vector<std::string> paradigms;
  for (const auto& [text, gap] : SimulatedParadigms()) {
    if (!Steals(*ParseParadigm(text))) paradigms.push_back(text);
  }
  return paradigms;
}

ClusterSpec StaticSpec(uint64_t seed, const std::string& paradigm) {
  ClusterSpec spec = FaultySpec(seed, paradigm);
  spec.run.data_assignment = DataAssignment::kStatic;
  spec.settings.batching = Batching::kEven;
  // Now and then some of the last epoch is not wanted.
  if (seed % 3 == 0) {
    spec.settings.stop.samples =
        spec.train_samples * spec.settings.stop.epochs -
        static_cast<int64_t>(seed % spec.train_samples);
  }
  return spec;
}

class StaticPartsTest : public testing::TestWithParam<std::string> {};

TEST_P(StaticPartsTest, EverySampleOfEveryEpochIsCountedOnceForEverySeed) {
  SimulatedRuns runs;
  const Seeds seeds(SeedCount(250));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    runs.Run(StaticSpec(seed, GetParam()));
    ASSERT_EQ(runs.verdict, "") << GetParam() << ", seed " << seed;
  }
  if (seeds.count < 100) return;
  // Or the seeds would prove little.
  for (const LossReason reason :
       {LossReason::kStreamBroken, LossReason::kLeaseEnded, LossReason::kStuck,
        LossReason::kDeparted}) {
    EXPECT_GT(runs.losses[reason], 5) << static_cast<int>(reason);
  }
  EXPECT_GT(runs.decisions[DecisionKind::kRangeReturned], 5);
}

TEST_P(StaticPartsTest, TheLimitChangesWhileItRunsForEverySeed) {
  SimulatedRuns runs;
  const Seeds seeds(SeedCount(60));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    ClusterSpec spec = StaticSpec(seed, GetParam());
    spec.faults.update = 200;
    runs.Run(spec);
    ASSERT_EQ(runs.verdict, "") << GetParam() << ", seed " << seed;
  }
}

TEST_P(StaticPartsTest, ManyRunsCountEverySampleOnceForEverySeed) {
  SimulatedRuns runs;
  const Seeds seeds(SeedCount(60));
  int64_t open = 0;
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    ClusterSpec spec = StaticSpec(seed, GetParam());
    spec.settings.checkpoint_interval = absl::Seconds(1 + seed % 5);
    for (uint64_t run = 0; run < 4; ++run) {
      spec.seed = 4 * seed + run;
      runs.Run(spec);
      ASSERT_EQ(runs.verdict, "")
          << GetParam() << ", seed " << seed << ", run " << run;
      if (runs.points.empty()) break;  // Too few came in time.
      const ResumePoint& point =
          runs.points[std::min(run + seed % 7, runs.points.size() - 1)];
      spec.start.version = point.version;
      spec.start.position = point.position;
      open += point.position.open.empty() ? 0 : 1;
    }
  }
  if (seeds.count < 25) return;
  EXPECT_GT(open, 20);
}

INSTANTIATE_TEST_SUITE_P(Paradigms, StaticPartsTest,
                         testing::ValuesIn(Paradigms()),
                         [](const testing::TestParamInfo<std::string>& of) {
                           return ParadigmName(of.param);
                         });

TEST(StaticPartsSwitchTest, ASwitchKeepsThePartsForEverySeed) {
  const std::vector<std::string> paradigms = Paradigms();
  SimulatedRuns runs;
  const Seeds seeds(SeedCount(1500));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const std::string& paradigm = paradigms[seed % paradigms.size()];
    ClusterSpec spec = StaticSpec(seed, paradigm);
    spec.faults.change = 250;
    for (const std::string& text : paradigms) {
      spec.faults.paradigms.push_back(*ParseParadigm(text));
    }
    runs.Run(spec);
    ASSERT_EQ(runs.verdict, "") << paradigm << ", seed " << seed;
  }
  EXPECT_GT(runs.switches, 3 * seeds.count);
}

}  // namespace
}  // namespace paceline
