// Joins, farewells and crashes lose no sample, whatever the paradigm.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using Kind = MembershipChange::Kind;

TEST(FaultsTest, ACrashIsSeenWhenTheLeaseEnds) {
  // Worker 1 crashes in its second iteration; the round waits for the lease.
  ClusterSpec spec = SteadySpec({1, 1}, 4);
  spec.run.lease = absl::Seconds(3);
  spec.changes = {{Kind::kCrash, 1, 1'500'000'000}};
  HistoryChecker checker(spec);
  const SimulationResult result = Simulate(spec, "bsp", &checker);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(checker.Verdict(), "");
  EXPECT_EQ(result.lost, 1);
  EXPECT_THAT(PushesOf(result), ElementsAre(7, 1));
  // Round 2 closes at 1.5 s + 3 s; five more follow, a second each.
  EXPECT_EQ(result.duration, 9'500'000'000);
  EXPECT_EQ(result.workers[1].alive, 1'500'000'000);
}

TEST(FaultsTest, AFarewellIsHeardAtOnce) {
  ClusterSpec spec = SteadySpec({1, 1}, 4);
  spec.changes = {{Kind::kLeave, 1, 1'500'000'000}};
  HistoryChecker checker(spec);
  const SimulationResult result = Simulate(spec, "bsp", &checker);
  EXPECT_EQ(checker.Verdict(), "");
  EXPECT_EQ(result.lost, 0);
  EXPECT_THAT(PushesOf(result), ElementsAre(7, 1));
  EXPECT_EQ(result.duration, 7 * kSecond);
}

TEST(FaultsTest, AFarewellFlushesAPushUnderWay) {
  ClusterSpec spec = SteadySpec({1, 1}, 4);
  spec.model_bytes = 1;
  spec.workers[1].link.bytes_per_second = 1;
  spec.changes = {
      {Kind::kLeave, 1, 2'500'000'000}};  // It pushes from 2 to 3 s.
  HistoryChecker checker(spec);
  const SimulationResult result = Simulate(spec, "asp", &checker);
  EXPECT_EQ(checker.Verdict(), "");
  EXPECT_THAT(PushesOf(result), ElementsAre(7, 1));
}

TEST(FaultsTest, APushThatLeftBeforeTheCrashCounts) {
  ClusterSpec spec = SteadySpec({1, 1}, 4);
  spec.workers[1].link.latency = 100 * kMillisecond;
  spec.run.lease = absl::Seconds(3);
  // Pulled by 300 ms, computed by 1300, taken at 1400.
  spec.changes = {{Kind::kCrash, 1, 1'350'000'000}};
  HistoryChecker checker(spec);
  const SimulationResult result = Simulate(spec, "asp", &checker);
  EXPECT_EQ(checker.Verdict(), "");
  EXPECT_THAT(PushesOf(result), ElementsAre(7, 1));
  // And one that is cut short does not.
  spec.model_bytes = 1;
  spec.workers[1].link.bytes_per_second = 10;  // 1400 to 1500.
  spec.changes = {{Kind::kCrash, 1, 1'450'000'000}};
  HistoryChecker cut_short(spec);
  EXPECT_THAT(PushesOf(Simulate(spec, "asp", &cut_short)), ElementsAre(8, 0));
  EXPECT_EQ(cut_short.Verdict(), "");
}

TEST(FaultsTest, WhoJoinsLaterWasNotThere) {
  ClusterSpec spec = TimedSpec({1, 1}, 10);
  spec.changes = {{Kind::kJoin, 1, 4'500'000'000}};
  EXPECT_THAT(PushesOf(Simulate(spec, "asp")), ElementsAre(10, 5));
  // Under BSP it waits for the next round.
  const SimulationResult bsp = Simulate(spec, "bsp");
  EXPECT_THAT(PushesOf(bsp), ElementsAre(10, 5));
  EXPECT_EQ(bsp.workers[1].wait, 500 * kMillisecond);
  EXPECT_EQ(bsp.workers[1].alive, 5'500 * kMillisecond);
}

TEST(FaultsTest, TheStuckComeBackAsNew) {
  // A lease of a second: an iteration of over ten is stuck.
  ClusterSpec spec = SteadySpec({1, 1}, 30);
  spec.run.lease = absl::Seconds(1);
  std::vector<RecordedIteration> recorded(10,
                                          {.compute = kSecond, .samples = 8});
  recorded[5].compute = 100 * kSecond;
  spec.workers[1].device.recorded =
      std::make_shared<const std::vector<RecordedIteration>>(recorded);
  HistoryChecker checker(spec);
  const SimulationResult result = Simulate(spec, "asp", &checker);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(checker.Verdict(), "");
  EXPECT_GE(result.lost, 1);
  EXPECT_GT(result.workers[1].pushes, 10);
}

TEST(FaultsTest, NobodyLeftIsNotTheEnd) {
  ClusterSpec spec = SteadySpec({1, 1}, 30);
  spec.changes = {{Kind::kCrash, 0, 5 * kSecond},
                  {Kind::kLeave, 1, 7 * kSecond}};
  const SimulationResult result = Simulate(spec, "asp");
  EXPECT_FALSE(result.complete);
  EXPECT_THAT(PushesOf(result), ElementsAre(5, 7));
}

// Random faults among five workers of random speeds and links; worker 0 stays.
ClusterSpec FaultySpec(uint64_t seed) {
  Rng rng(seed);
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    seconds.push_back(0.001 * static_cast<double>(100 + rng.Below(2000)));
  }
  ClusterSpec spec = SteadySpec(seconds, 20);
  spec.seed = seed;
  spec.run.lease = absl::Seconds(3);
  spec.servers = static_cast<int>(1 + rng.Below(3));
  spec.settings.stop.epochs = static_cast<int64_t>(1 + rng.Below(2));
  spec.train_samples += static_cast<uint32_t>(rng.Below(8));
  spec.run.eval_every = static_cast<int64_t>(rng.Below(100));
  spec.settings.batching =
      rng.Chance(1, 3) ? Batching::kBalanced : Batching::kEven;
  spec.server_latency = static_cast<Nanos>(rng.Below(50)) * kMillisecond;
  spec.model_bytes = 1000;
  for (size_t i = 0; i < spec.workers.size(); ++i) {
    WorkerSpec& worker = spec.workers[i];
    worker.device.jitter.kind =
        rng.Chance(1, 2) ? Jitter::Kind::kExponential : Jitter::Kind::kNone;
    worker.link.latency = static_cast<Nanos>(rng.Below(100)) * kMillisecond;
    worker.link.bytes_per_second = rng.Chance(1, 2) ? 0 : 10'000;
    if (i == 0) continue;
    bool there = !rng.Chance(1, 3);
    Nanos at = 0;
    for (uint64_t n = rng.Below(4); n > 0; --n) {
      at += static_cast<Nanos>(1 + rng.Below(8000)) * kMillisecond;
      const Kind gone = rng.Chance(1, 2) ? Kind::kCrash : Kind::kLeave;
      spec.changes.push_back({there ? gone : Kind::kJoin, i, at});
      there = !there;
    }
  }
  std::sort(spec.changes.begin(), spec.changes.end(),
            [](const MembershipChange& a, const MembershipChange& b) {
              return std::pair(a.at, a.worker) < std::pair(b.at, b.worker);
            });
  return spec;
}

// Everybody has another iteration in flight, which may be lost alone.
void AddInFlight(ClusterSpec& spec) {
  for (size_t of = 0; of < 5; ++of) {
    WorkerSpec other = spec.workers[of];
    other.name += ".2";
    other.of = of;
    spec.workers.push_back(other);
  }
  for (size_t i = spec.changes.size(); i-- > 0;) {
    MembershipChange other = spec.changes[i];
    other.worker += 5;
    other.at += kMillisecond;
    spec.changes.push_back(other);
  }
  std::ranges::sort(spec.changes, {}, [](const MembershipChange& change) {
    return std::pair(change.at, change.worker);
  });
}

class FaultsOfTest : public testing::TestWithParam<std::string> {};

TEST_P(FaultsOfTest, LoseNoSample) {
  int64_t lost = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    ClusterSpec spec = FaultySpec(seed);
    spec.run.paradigm = *ParseParadigm(GetParam());
    if (seed % 3 == 0) {
      spec.switches = {{0.3, *ParseParadigm("bsp")},
                       {0.6, *ParseParadigm("asp")}};
    }
    if (seed % 3 == 1) AddInFlight(spec);
    HistoryChecker checker(spec);
    const SimulationResult result = Simulate(spec, GetParam(), &checker);
    EXPECT_TRUE(result.complete) << seed;
    ASSERT_EQ(checker.Verdict(), "") << seed;
    lost += result.lost;
  }
  EXPECT_GT(lost, 20);  // Or the seeds would prove little.
}

INSTANTIATE_TEST_SUITE_P(Paradigms, FaultsOfTest,
                         testing::ValuesIn(AllParadigms()));

}  // namespace
}  // namespace paceline
