// CGP's traces with staleness and versions, what algorithms.md 3.5 says must
// always hold, and the edges at which it is another paradigm.

#include "services/coordinator/policy/cgp.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/policy/cgp_cluster.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<absl::Duration> Seconds(const std::vector<double>& seconds) {
  std::vector<absl::Duration> durations;
  for (const double s : seconds) {
    durations.push_back(absl::Nanoseconds(std::llround(s * 1e9)));
  }
  return durations;
}

// "2s V2: 0(0) 2(1)", without the warm-up and in its time and versions.
std::vector<std::string> UpdatesOf(const CgpCluster& cluster,
                                   absl::Duration warmup) {
  std::vector<std::string> lines;
  for (const CgpCluster::Update& update : cluster.updates()) {
    if (update.at <= warmup) continue;
    lines.push_back(absl::StrCat(
        absl::FormatDuration(update.at - warmup), " V", update.version - 1,
        ": ",
        absl::StrJoin(update.staleness, " ",
                      [](std::string* out, const auto& push) {
                        absl::StrAppend(out, push.first, "(", push.second, ")");
                      })));
  }
  return lines;
}

TEST(CgpTraceTest, G1MergesWhatIsReadyAtOneInstant) {
  CgpCluster cluster(
      {.delta = 0, .patience = std::nullopt, .warmup_rounds = 1},
      {.iteration_times = Seconds({1, 1, 2, 4}), .horizon = absl::Seconds(8)});
  cluster.Run();
  EXPECT_THAT(UpdatesOf(cluster, absl::Seconds(4)),
              ElementsAre("1s V1: 0(0) 1(0)", "2s V2: 0(0) 1(0) 2(1)",
                          "3s V3: 0(0) 1(0)", "4s V4: 0(0) 1(0) 2(1) 3(3)"));
}

TEST(CgpTraceTest, G2WaitsForThePredicted) {
  CgpCluster cluster({.patience = std::nullopt, .warmup_rounds = 1},
                     {.iteration_times = Seconds({1, 1.9}),
                      .horizon = absl::Milliseconds(5'900)});
  cluster.Run();
  EXPECT_THAT(UpdatesOf(cluster, absl::Milliseconds(1'900)),
              ElementsAre("1s V1: 0(0)", "2s V2: 0(0) 1(1)", "3s V3: 0(0)",
                          "4s V4: 0(0) 1(1)"));
}

TEST(CgpTraceTest, G3HandsTheLatePushOver) {
  CgpCluster cluster(
      {.delta = 0, .warmup_rounds = 1},
      {.iteration_times = Seconds({1, 1, 2}), .horizon = absl::Seconds(8)});
  cluster.Script(1, Seconds({1, 1, 3.2}));
  cluster.Run();
  EXPECT_THAT(UpdatesOf(cluster, absl::Seconds(2)),
              ElementsAre("1s V1: 0(0) 1(0)", "2s V2: 2(1)", "2.5s V3: 0(1)",
                          "3.5s V4: 0(0)", "4s V5: 2(2)", "4.5s V6: 0(1) 1(4)",
                          "5.5s V7: 0(0) 1(0)", "6s V8: 2(2)"));
  EXPECT_EQ(cluster.late(), 1);
}

struct Case {
  std::string name;
  CgpOptions cgp;
  bool faults = true;
};

class CgpInvariantsTest : public testing::TestWithParam<Case> {
 protected:
  static CgpCluster RunSeed(uint64_t seed) {
    Rng rng(seed);
    CgpCluster::Options options{.seed = seed,
                                .jitter = rng.Chance(2, 3),
                                .faults = GetParam().faults,
                                .horizon = absl::Seconds(60)};
    for (uint64_t n = 1 + rng.Below(rng.Chance(1, 8) ? 40 : 8); n > 0; --n) {
      options.iteration_times.push_back(
          absl::Milliseconds(100 * (5 + rng.Below(30))));
    }
    if (rng.Chance(1, 2)) options.tick_delay = absl::Milliseconds(20);
    CgpCluster cluster(GetParam().cgp, std::move(options));
    cluster.Run();
    return cluster;
  }
};

TEST_P(CgpInvariantsTest, HoldForEverySeed) {
  int64_t late = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const CgpCluster cluster = RunSeed(seed);
    ASSERT_THAT(cluster.violations(), IsEmpty()) << "seed " << seed;
    ASSERT_GT(cluster.pushes(), 10) << "seed " << seed;
    late += cluster.late();
  }
  // Who is alone in his group is late for nobody.
  if (GetParam().faults && GetParam().cgp.patience.has_value() &&
      GetParam().cgp.beta < 1) {
    EXPECT_GT(late, 100);
  }
}

TEST_P(CgpInvariantsTest, OneSeedGivesOneHistory) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(RunSeed(seed).trace(), RunSeed(seed).trace());
    EXPECT_NE(RunSeed(seed).trace(), RunSeed(seed + 1).trace());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Parameters, CgpInvariantsTest,
    testing::Values(
        Case{"defaults", {}}, Case{"steady", {.warmup_rounds = 2}, false},
        Case{"no_merge", {.delta = 0, .warmup_rounds = 1}},
        Case{
            "no_handover",
            {.patience = std::nullopt, .warmup_rounds = 1, .regroup_every = 5}},
        Case{"blind", {.predictive = false, .warmup_rounds = 1}},
        Case{"impatient",
             {.delta = 2,
              .patience = 1,
              .warmup_rounds = 1,
              .regroup_every = 4}},
        Case{"restless",
             {.beta = 0.6, .warmup_rounds = 1, .regroup_every = 1, .drift = 0}},
        Case{"alone", {.beta = 1, .delta = 0, .warmup_rounds = 1}},
        Case{"settled",
             {.warmup_rounds = 1, .regroup_every = 1'000'000, .drift = 1'000}},
        Case{"one_group", {.beta = 0, .warmup_rounds = 1}},
        Case{"bounded", {.warmup_rounds = 1, .s_max = 3}},
        Case{"bounded_0", {.warmup_rounds = 1, .s_max = 0}}),
    [](const testing::TestParamInfo<Case>& param) { return param.param.name; });

// With m groups and no merge there are as many updates as rounds.
TEST(CgpTest, WithoutMergeEveryRoundIsAnUpdate) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    CgpCluster cluster(
        {.delta = 0, .patience = std::nullopt, .warmup_rounds = 1},
        {.seed = seed,
         .iteration_times = Seconds({1, 1.05, 1.4, 2, 2.1, 3.7}),
         .jitter = true,
         .horizon = absl::Seconds(60)});
    cluster.Run();
    for (const CgpCluster::Update& update : cluster.updates()) {
      ASSERT_EQ(update.rounds, 1) << seed;
    }
    EXPECT_GT(cluster.updates().size(), 60u);
  }
}

// MERGE makes fewer updates of the same rounds.
TEST(CgpTest, MergeSavesUpdates) {
  const auto updates = [](double delta) {
    CgpCluster cluster(
        {.delta = delta, .patience = std::nullopt, .warmup_rounds = 1},
        {.iteration_times = Seconds({1, 1.9}),
         .horizon = absl::Seconds(101.9)});
    cluster.Run();
    return cluster.updates().size();
  };
  EXPECT_EQ(updates(0.25), 101u);
  EXPECT_GT(updates(0), 145u);
}

TEST(CgpTest, OneGroupIsBsp) {
  CgpCluster cluster(
      {.beta = 0, .patience = std::nullopt},
      {.iteration_times = Seconds({1, 2, 5}), .horizon = absl::Seconds(500)});
  cluster.Run();
  EXPECT_EQ(cluster.updates().size(), 100u);
  EXPECT_EQ(cluster.pushes(), 300);
  for (const CgpCluster::Update& update : cluster.updates()) {
    for (const auto& [worker, staleness] : update.staleness) {
      EXPECT_EQ(staleness, 0);
    }
  }
}

TEST(CgpTest, AllOnTheirOwnAreAsp) {
  CgpCluster cluster(
      {.beta = 1, .delta = 0, .patience = std::nullopt, .warmup_rounds = 1},
      {.iteration_times = Seconds({1, 2, 5}), .horizon = absl::Seconds(505)});
  cluster.Run();
  EXPECT_EQ(cluster.pushes(), 3 + 500 + 250 + 100);
}

// More groups than accumulators: those of one worker push immediately.
TEST(CgpTest, ManyGroupsOfOnePushImmediately) {
  CgpCluster::Options options{.horizon = absl::Seconds(200)};
  double asp = 0;
  for (int i = 0; i < 40; ++i) {
    options.iteration_times.push_back(absl::Milliseconds(1'000 + 37 * i));
    asp += 200 / (1 + 0.037 * i);
  }
  CgpCluster cluster({.beta = 1, .delta = 0, .warmup_rounds = 1}, options);
  cluster.Run();
  EXPECT_THAT(cluster.violations(), IsEmpty());
  EXPECT_GT(cluster.immediate(), cluster.pushes() * 9 / 10);
  EXPECT_GT(static_cast<double>(cluster.pushes()), 0.97 * asp);
}

// The speed guarantee is kept, not only predicted.
TEST(CgpTest, KeepsBetaOfTheSpeedOfAsp) {
  Rng rng(5);
  for (int i = 0; i < 30; ++i) {
    CgpCluster::Options options{.horizon = absl::Seconds(400)};
    double asp = 0;
    for (uint64_t n = 2 + rng.Below(8); n > 0; --n) {
      options.iteration_times.push_back(
          absl::Milliseconds(500 + rng.Below(4'000)));
      asp += 400 / absl::ToDoubleSeconds(options.iteration_times.back());
    }
    CgpCluster cluster(
        {.delta = 0, .patience = std::nullopt, .warmup_rounds = 1}, options);
    cluster.Run();
    // Less the warm-up and the last iterations.
    EXPECT_GT(static_cast<double>(cluster.pushes()), 0.9 * asp * 0.96) << i;
  }
}

// A group is divided when a member has become slow for good.
TEST(CgpTest, RegroupsOnDrift) {
  CgpCluster::Options options{.iteration_times = Seconds({1, 1, 1, 3}),
                              .horizon = absl::Seconds(200)};
  CgpCluster cluster({.delta = 0,
                      .patience = std::nullopt,
                      .warmup_rounds = 2,
                      .regroup_every = 1'000'000},
                     options);
  // As fast as the others while they are measured.
  cluster.Script(3, Seconds({1, 1, 1}));
  cluster.Run();
  EXPECT_GT(cluster.pushes(), 3 * 170 + 60);
}

}  // namespace
}  // namespace paceline
