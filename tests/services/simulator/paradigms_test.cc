// What every paradigm shows in a virtual cluster.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Jitter, a network and four speeds.
ClusterSpec LivelySpec(uint64_t seed) {
  ClusterSpec spec = SteadySpec({1, 1.3, 1.7, 2.9}, 30);
  spec.seed = seed;
  spec.model_bytes = 1'000'000;
  spec.server_latency = 1'000'000;
  for (WorkerSpec& worker : spec.workers) {
    worker.device.jitter.kind = Jitter::Kind::kLognormal;
    worker.device.jitter.spread = 0.3;
    worker.link = {2'000'000, 1e7};
  }
  return spec;
}

class ParadigmsTest : public testing::TestWithParam<std::string> {};

TEST_P(ParadigmsTest, OneSeedGivesOneHistory) {
  const auto history_of = [](uint64_t seed) {
    HistoryWriter history;
    const ClusterSpec spec = LivelySpec(seed);
    Simulate(spec, GetParam(), &history);
    return history.text();
  };
  EXPECT_EQ(history_of(1), history_of(1));
  EXPECT_NE(history_of(1), history_of(2));
}

TEST_P(ParadigmsTest, CountsEverySampleOnce) {
  ClusterSpec spec = LivelySpec(3);
  spec.run.paradigm = *ParseParadigm(GetParam());
  HistoryChecker checker(spec);
  const SimulationResult result = Simulate(spec, GetParam(), &checker);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(checker.Verdict(), "");
  EXPECT_EQ(result.samples, int64_t{spec.train_samples});
  EXPECT_EQ(result.lost, 0);
  int64_t pushes = 0;
  for (const WorkerResult& worker : result.workers) pushes += worker.pushes;
  EXPECT_EQ(pushes, result.pushes);
  EXPECT_EQ(result.gap.total(), pushes);
}

TEST_P(ParadigmsTest, IsWatchedWithoutBeingChanged) {
  const ClusterSpec spec = LivelySpec(4);
  HistoryWriter history;
  EXPECT_EQ(Simulate(spec, GetParam(), &history).duration,
            Simulate(spec, GetParam()).duration);
}

TEST_P(ParadigmsTest, SwitchesSettle) {
  ClusterSpec spec = LivelySpec(5);
  spec.switches = {{0, *ParseParadigm("ssp:s=1")},
                   {0.4, *ParseParadigm("bsp")},
                   {0.7, *ParseParadigm(GetParam())}};
  HistoryChecker checker(spec);
  const SimulationResult result = Simulate(spec, GetParam(), &checker);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(checker.Verdict(), "");
  ASSERT_THAT(result.switches, SizeIs(3));
  const auto total = static_cast<double>(spec.train_samples);
  for (size_t i = 0; i < result.switches.size(); ++i) {
    const SwitchResult& done = result.switches[i];
    ASSERT_TRUE(done.took.has_value()) << i;
    // Within the slowest iteration.
    EXPECT_LT(*done.took, absl::Seconds(15)) << i;
    EXPECT_GE(static_cast<double>(done.what.samples),
              spec.switches[i].share * total);
  }
}

INSTANTIATE_TEST_SUITE_P(Paradigms, ParadigmsTest,
                         testing::ValuesIn(AllParadigms()));

TEST(SwitchTest, ByTimeWhereSamplesDoNotEnd) {
  ClusterSpec spec = TimedSpec({1, 2}, 100);
  spec.switches = {{0.5, *ParseParadigm("asp")}};
  const SimulationResult result = Simulate(spec, "bsp");
  // 25 rounds; then each on its own, the one who waits for nobody at once.
  EXPECT_THAT(PushesOf(result), ElementsAre(75, 50));
  ASSERT_THAT(result.switches, SizeIs(1));
  EXPECT_EQ(result.switches[0].what.at, absl::UnixEpoch() + absl::Seconds(50));
}

// All workers are ready at one instant. Those whose gradients come too late
// were told so before they ask, so that their samples are dealt again.
TEST(FirstOfRoundTest, UsesNoSamplesUpForNothing) {
  for (const char* const paradigm :
       {"ksync:k=6", "kbatchsync:k=6", "backup:b=2"}) {
    const SimulationResult result =
        Simulate(SteadySpec(std::vector<double>(8, 1), 30), paradigm);
    EXPECT_TRUE(result.complete) << paradigm;
    EXPECT_EQ(result.discarded, 0) << paradigm;
    EXPECT_GT(result.abandoned, 0) << paradigm;
  }
}

TEST(BatchingTest, BalancedRoundsApproachTheIdeal) {
  ClusterSpec spec = TimedSpec({1, 1, 1, 4}, 4000);
  spec.run.batch_size = 128;
  spec.train_samples = uint32_t{1} << 30;
  const SimulationResult even = Simulate(spec, "bsp");
  EXPECT_EQ(even.closings, 1000);
  spec.settings.batching = Batching::kBalanced;
  const SimulationResult balanced = Simulate(spec, "bsp");
  // 4 / (1 + 1 + 1 + 1/4) = 1.23 of 4 seconds, 0.31.
  const double share = static_cast<double>(even.closings) /
                       static_cast<double>(balanced.closings);
  EXPECT_NEAR(share, 0.31, 0.005);
  EXPECT_LT(balanced.WaitingShare(), 0.02);
  EXPECT_GT(even.WaitingShare(), 0.5);
}

// The fixed costs of an iteration are a part of a worker's speed.
TEST(BatchingTest, BalancesWholeIterationsNotOnlyComputing) {
  ClusterSpec spec = TimedSpec({1, 1, 1, 4}, 4000);
  spec.run.batch_size = 128;
  spec.train_samples = uint32_t{1} << 30;
  spec.settings.batching = Batching::kBalanced;
  spec.model_bytes = 1'000'000;
  spec.workers[0].link = {10'000'000, 5e6};
  EXPECT_LT(Simulate(spec, "bsp").WaitingShare(), 0.03);
}

// Of 200 workers one is always very fast for once, and must not be given what
// it will not do as fast.
TEST(StealingTest, KeepsItsSpeedAmongManyWorkersWithoutMemory) {
  const auto samples_per_second = [](size_t workers) {
    ClusterSpec spec = TimedSpec(std::vector<double>(workers, 1), 100);
    spec.run.batch_size = 32;
    for (WorkerSpec& worker : spec.workers) {
      worker.device.jitter.kind = Jitter::Kind::kExponential;
    }
    const SimulationResult result = Simulate(spec, "bsp:steal=true");
    return static_cast<double>(result.samples) / 100;
  };
  EXPECT_GT(samples_per_second(200) / 200, 0.65 * samples_per_second(8) / 8);
}

TEST(ExtremesTest, Meet) {
  const ClusterSpec spec = TimedSpec({1, 1.3, 1.7, 2.9}, 600);
  EXPECT_EQ(PushesOf(Simulate(spec, "ssp:s=1000000000")),
            PushesOf(Simulate(spec, "asp")));
  EXPECT_EQ(PushesOf(Simulate(spec, "ssp:s=0")),
            PushesOf(Simulate(spec, "bsp")));
}

}  // namespace
}  // namespace paceline
