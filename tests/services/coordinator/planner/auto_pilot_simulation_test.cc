// An AutoPilot steers simulated clusters, of which nobody has told it anything.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/job/batched_paradigm.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/planner/simulated_pilot.h"
#include "services/simulator/virtual_cluster.h"
#include "tests/services/coordinator/planner/measured_workers.h"

namespace paceline {
namespace {

constexpr Nanos kOneSecond = 1'000'000'000;

ClusterSpec Cluster(const std::vector<double>& seconds, int64_t iterations,
                    double micro_batch_cost) {
  ClusterSpec spec;
  for (const double mean : seconds) {
    WorkerSpec worker;
    worker.name = absl::StrCat("w", spec.workers.size());
    worker.device.iteration = static_cast<Nanos>(mean * 1e9);
    worker.device.micro_batch =
        static_cast<Nanos>(mean * micro_batch_cost * 1e9);
    spec.workers.push_back(worker);
  }
  spec.run.batch_size = kBatch;
  spec.run.lease = absl::Hours(1);
  spec.train_samples = static_cast<uint32_t>(iterations * kBatch) *
                       static_cast<uint32_t>(seconds.size());
  return spec;
}

void SetJitter(Jitter::Kind kind, ClusterSpec& spec) {
  for (WorkerSpec& worker : spec.workers) worker.device.jitter.kind = kind;
}

void Burst(ClusterSpec& spec) {
  for (WorkerSpec& worker : spec.workers) {
    worker.device.jitter.bursts = Bursts{
        .every = 40 * kOneSecond, .length = 10 * kOneSecond, .factor = 4};
  }
}

// Samples a second that were trained on.
double Speed(const SimulationResult& result) {
  return static_cast<double>(result.samples - result.samples_discarded) /
         ToSeconds(result.duration);
}

// When it went over to what, and why.
std::string StoryOf(const SimulationResult& result) {
  std::string story;
  for (const SwitchResult& one : result.switches) {
    absl::StrAppend(&story, ToSeconds(ToNanos(one.what.at)),
                    " s: ", one.what.to, ", ", one.what.reason, "\n");
  }
  return story;
}

double SpeedUnder(ClusterSpec spec, absl::string_view text) {
  const BatchedParadigm of = *ParseBatchedParadigm(text);
  spec.run.paradigm = of.paradigm;
  spec.settings.batching = of.batching;
  return Speed(VirtualCluster(&spec, {}).Run());
}

SimulationResult Steered(ClusterSpec spec) {
  spec.run.paradigm = *ParseParadigm(kAutoBegins);
  SimulatedPilot pilot(&spec);
  spec.pilot = &pilot;
  return VirtualCluster(&spec, {&pilot}).Run();
}

// Those that are not stale: how fast others are is not all that counts.
constexpr const char* kFixed[] = {"bsp",
                                  "bsp,batching=balanced",
                                  "bsp:steal=true",
                                  "kbatchsync:k=4",
                                  "kbatchsync:k=6",
                                  "kbatchsync:k=7"};

double BestOf(const ClusterSpec& spec) {
  double best = 0;
  for (const char* const paradigm : kFixed) {
    best = std::max(best, SpeedUnder(spec, paradigm));
  }
  return best;
}

struct SteeredCluster {
  std::string name;
  std::vector<double> seconds;
  Jitter::Kind kind = Jitter::Kind::kNone;
  bool bursts = false;
};

class AutoPilotSimulationTest : public testing::TestWithParam<SteeredCluster> {
 protected:
  static ClusterSpec Spec(double micro_batch_cost) {
    ClusterSpec spec = Cluster(GetParam().seconds, 300, micro_batch_cost);
    SetJitter(GetParam().kind, spec);
    if (GetParam().bursts) Burst(spec);
    return spec;
  }
};

TEST_P(AutoPilotSimulationTest, IsNearTheBestFixedParadigm) {
  for (const double cost : {0.0, 0.02, 0.05}) {
    const ClusterSpec spec = Spec(cost);
    const SimulationResult steered = Steered(spec);
    EXPECT_TRUE(steered.complete);
    // Where the pace comes and goes within a minute, what was measured of one
    // paradigm says less of another.
    const double least = GetParam().bursts ? 0.7 : 0.85;
    EXPECT_GE(Speed(steered), least * BestOf(spec))
        << "a cut costs " << cost << "\n"
        << StoryOf(steered);
    EXPECT_LE(steered.switches.size(), 6u);
  }
}

TEST_P(AutoPilotSimulationTest, TheSameHappensAgain) {
  const ClusterSpec spec = Spec(0.02);
  EXPECT_EQ(Steered(spec).duration, Steered(spec).duration);
}

INSTANTIATE_TEST_SUITE_P(
    , AutoPilotSimulationTest,
    testing::Values(SteeredCluster{"Equal", std::vector<double>(8, 1)},
                    SteeredCluster{"TwoSlow", {1, 1, 1, 1, 1, 1, 4, 4}},
                    SteeredCluster{"FourSpeeds",
                                   {1, 1, 1.3, 1.3, 1.7, 1.7, 2.9, 2.9}},
                    SteeredCluster{"Bursts", std::vector<double>(8, 1),
                                   Jitter::Kind::kNone, true},
                    SteeredCluster{"WithoutMemory", std::vector<double>(8, 1),
                                   Jitter::Kind::kExponential}),
    [](const auto& of) { return of.param.name; });

// A quarter of them is slow for a while, as a card that is throttled.
TEST(AutoPilotChangesTest, BeatsEveryFixedParadigmWhereTheClusterChanges) {
  ClusterSpec spec = Cluster(std::vector<double>(8, 1), 900, 0.02);
  for (size_t i = 0; i < spec.workers.size(); ++i) {
    auto recorded = std::make_shared<std::vector<RecordedIteration>>();
    double now = 0;
    for (int k = 0; k < 900; ++k) {
      const double seconds = i >= 6 && now >= 300 && now < 700 ? 4 : 1;
      now += seconds;
      recorded->push_back(
          {.compute = static_cast<Nanos>(seconds * 1e9), .samples = kBatch});
    }
    spec.workers[i].device.recorded = std::move(recorded);
  }
  const SimulationResult steered = Steered(spec);
  const double speed = Speed(steered);
  for (const char* const paradigm : kFixed) {
    // Balanced batches follow by themselves, without a cut.
    const double least = absl::StrContains(paradigm, "balanced") ? 0.93 : 1;
    EXPECT_GT(speed, least * SpeedUnder(spec, paradigm)) << paradigm << "\n"
                                                         << StoryOf(steered);
  }
}

// Where every cut costs much, balanced batches are the best for unequal
// workers, and they are left again where times begin to scatter.
TEST(AutoPilotChangesTest, BalancesBatchesForAsLongAsThatSuits) {
  ClusterSpec spec = Cluster({1, 1, 1, 1, 2, 2, 2, 2}, 500, 0.1);
  Rng rng(7);
  for (WorkerSpec& worker : spec.workers) {
    auto recorded = std::make_shared<std::vector<RecordedIteration>>();
    const auto usual = static_cast<double>(worker.device.iteration);
    double now = 0;
    for (int k = 0; k < 500; ++k) {
      const double luck = now < 300e9 ? 1 : -std::log(1 - rng.Unit()) + 0.01;
      now += usual * luck;
      recorded->push_back(
          {.compute = static_cast<Nanos>(usual * luck), .samples = kBatch});
    }
    worker.device.recorded = std::move(recorded);
  }
  const SimulationResult steered = Steered(spec);
  const std::string story = StoryOf(steered);
  ASSERT_GE(steered.switches.size(), 2u) << story;
  EXPECT_THAT(steered.switches[0].what.reason,
              testing::StartsWith("bsp,batching=balanced"));
  EXPECT_THAT(steered.switches.back().what.to,
              testing::Not(testing::HasSubstr("balanced")))
      << story;
  // With even batches again, or it would be slower than either.
  EXPECT_GT(Speed(steered), 1.3 * SpeedUnder(spec, "bsp")) << story;
  EXPECT_GT(Speed(steered), 1.3 * SpeedUnder(spec, "bsp,batching=balanced"))
      << story;
}

// One that turns round as often as the pilot has made up its mind.
TEST(AutoPilotChangesTest, AnAdversaryCostsLittle) {
  for (const double period : {20.0, 40.0, 60.0}) {
    ClusterSpec spec = Cluster(std::vector<double>(8, 1), 600, 0.02);
    for (size_t i = 0; i < spec.workers.size(); ++i) {
      auto recorded = std::make_shared<std::vector<RecordedIteration>>();
      double now = 0;
      for (int k = 0; k < 600; ++k) {
        const bool odd = static_cast<int64_t>(now / period) % 2 == 1;
        const double seconds = odd && i >= 6 ? 4 : 1;
        now += seconds;
        recorded->push_back(
            {.compute = static_cast<Nanos>(seconds * 1e9), .samples = kBatch});
      }
      spec.workers[i].device.recorded = std::move(recorded);
    }
    const SimulationResult steered = Steered(spec);
    EXPECT_GE(Speed(steered), 0.95 * SpeedUnder(spec, kAutoBegins))
        << "every " << period << " s";
    EXPECT_LE(steered.switches.size(), 20u);
  }
}

// One is dead before its lease ends, one says good-bye, one comes later.
TEST(AutoPilotChangesTest, WorkersMayComeAndGo) {
  ClusterSpec spec = Cluster({1, 1, 1, 1, 4, 1}, 200, 0.02);
  spec.run.lease = absl::Seconds(20);
  for (WorkerSpec& worker : spec.workers) worker.link.latency = kOneSecond / 50;
  spec.changes = {{MembershipChange::Kind::kCrash, 0, 30 * kOneSecond},
                  {MembershipChange::Kind::kLeave, 1, 50 * kOneSecond},
                  {MembershipChange::Kind::kJoin, 0, 90 * kOneSecond},
                  {MembershipChange::Kind::kJoin, 5, 60 * kOneSecond}};
  const SimulationResult steered = Steered(spec);
  EXPECT_TRUE(steered.complete);
  EXPECT_EQ(steered.lost, 1);
  EXPECT_FALSE(steered.switches.empty());
}

}  // namespace
}  // namespace paceline
