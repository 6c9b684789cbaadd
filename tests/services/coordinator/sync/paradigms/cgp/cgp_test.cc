// CGP's traces with staleness and versions, what algorithms.md 3.5 says must
// always hold, and the edges at which it is another paradigm.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/paradigms/policy_driver.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kSecond = 1e9;

std::vector<double> Seconds(std::vector<double> seconds) {
  for (double& s : seconds) s = std::round(s * kSecond);
  return seconds;
}

// An update, as a closing makes it.
struct Update {
  double at = 0;
  Version version = 0;                                  // After it.
  std::vector<std::pair<uint32_t, int64_t>> staleness;  // Of its pushes.
  int64_t rounds = 0;                                   // With pushes in time.
};

// What algorithms.md 3.5 says must always hold of CGP, and what its updates
// are.
class CgpWatch final : public PolicyObserver {
 public:
  CgpWatch(const CgpOptions& cgp, double tick_delay)
      : cgp_(cgp), tick_delay_(tick_delay) {}

  void Happened(PolicyDriver& driver, const Event& event) override {
    if (const auto* const done = std::get_if<PushDone>(&event)) {
      Pushed(driver, *done);
    }
    if (const auto* const joined = std::get_if<Joined>(&event)) {
      workers_[joined->worker].came_back = true;
    }
    if (const auto* const resumed = std::get_if<Resumed>(&event)) {
      workers_[resumed->worker].came_back = true;
    }
  }

  void Performing(PolicyDriver& driver, const Action& action) override {
    if (const auto* const release = std::get_if<Release>(&action)) {
      Released(driver, *release);
    }
    if (const auto* const close = std::get_if<CloseRounds>(&action)) {
      Closed(driver, *close);
    }
    if (const auto* const report = std::get_if<Report>(&action)) {
      const Decision& why = report->decision;
      if (why.kind == DecisionKind::kFloats) workers_[why.worker].floats = true;
      if (why.kind == DecisionKind::kMovedToGroup) {
        ++moved_;
        workers_[why.worker].moved_at = driver.now();
      }
    }
  }

  const std::vector<Update>& updates() const { return updates_; }
  int64_t pushes() const { return pushes_; }
  int64_t immediate() const { return immediate_; }
  int64_t late() const { return late_; }
  int64_t moved() const { return moved_; }
  // What they waited in all for the first iteration after that.
  double moved_wait() const { return moved_wait_; }

 private:
  struct Worker {
    double released = 0;
    double pushed = 0;
    PushPlan plan;
    bool floats = false;
    bool came_back = false;  // It has not pushed before it waits.
    std::optional<double> moved_at;
    bool moved = false;  // Before this iteration; perhaps it is by itself.
    std::optional<double> busy;
  };
  struct Round {
    Version base = 0;
    double released = 0;
    bool of_moved = false;
    std::vector<WorkerId> gathered;
    std::vector<WorkerId> late;  // These are gathered, too.
  };

  void Pushed(const PolicyDriver& driver, const PushDone& done) {
    Worker& worker = workers_[done.worker];
    worker.pushed = driver.now();
    worker.came_back = false;
    const double busy = driver.now() - worker.released;
    const double mean = worker.busy.value_or(busy);
    worker.busy = mean + cgp_.alpha * (busy - mean);
    longest_busy_ = std::max(longest_busy_, *worker.busy);
    ++pushes_;
    late_ += worker.floats ? 1 : 0;
    if (worker.plan.kind != PushPlan::Kind::kRound) {
      ++immediate_;
    } else if (done.taken) {
      Round& round = rounds_[worker.plan.round];
      (worker.floats ? round.late : round.gathered).push_back(done.worker);
    }
  }

  void Released(PolicyDriver& driver, const Release& release) {
    Worker& worker = workers_[release.worker];
    if (!worker.came_back &&
        updates_.size() > static_cast<size_t>(cgp_.warmup_rounds)) {
      CheckWait(driver, worker);
    }
    bool moves = false;
    worker.floats = worker.moved = worker.came_back = false;
    if (worker.moved_at.has_value()) {
      moved_wait_ += driver.now() - *worker.moved_at;
      worker.moved_at.reset();
      moves = true;
    }
    worker.released = driver.now();
    worker.plan = release.plan;
    worker.moved = moves;
    if (release.plan.kind != PushPlan::Kind::kRound) return;
    const auto [it, fresh] = rounds_.try_emplace(release.plan.round);
    Round& round = it->second;
    round.of_moved |= moves;
    if (fresh) {
      round.base = driver.version();
      round.released = driver.now();
    }
    driver.Require(
        round.base == driver.version() && round.released == driver.now(),
        "members of one round have different versions");
  }

  // Nobody longer than patience and delta allow, in periods of the slowest
  // group. Here for those in time; with a regrouping there may be two groups to
  // wait for.
  void CheckWait(PolicyDriver& driver, const Worker& worker) const {
    if (worker.floats || worker.moved || !cgp_.patience.has_value() ||
        cgp_.s_max.has_value()) {
      return;
    }
    const double groups = cgp_.regroup_every < 1'000'000 ? 2 : 1;
    const double most = groups * longest_busy_ * (*cgp_.patience + cgp_.delta);
    driver.Require(driver.now() - worker.pushed <= most + 4 * tick_delay_ + 10,
                   "somebody waited too long");
  }

  void Closed(PolicyDriver& driver, const CloseRounds& close) {
    Update update{
        .at = driver.now(), .version = driver.version() + 1, .staleness = {}};
    for (const RoundId id : close.rounds) {
      Round& round = rounds_[id];
      // All members of a round have its base.
      const int64_t staleness = driver.version() - round.base;
      for (const auto* const pushes : {&round.gathered, &round.late}) {
        for (const WorkerId worker : *pushes) {
          update.staleness.emplace_back(ToNumber(worker), staleness);
        }
      }
      if (cgp_.s_max.has_value() && !round.gathered.empty() &&
          !round.of_moved && immediate_ + driver.core_closings() == 0) {
        driver.Require(staleness <= *cgp_.s_max, "staler than s_max");
      }
      update.rounds += round.gathered.empty() ? 0 : 1;
      round.gathered.clear();
      round.late.clear();
    }
    std::sort(update.staleness.begin(), update.staleness.end());
    updates_.push_back(std::move(update));
    driver.Require(driver.view().rounds().in_use() <= RoundLedger::kMostAtWill,
                   "too many accumulators");
  }

  const CgpOptions cgp_;
  const double tick_delay_;
  std::map<WorkerId, Worker> workers_;
  std::map<RoundId, Round> rounds_;
  std::vector<Update> updates_;
  int64_t pushes_ = 0;
  int64_t immediate_ = 0;
  int64_t late_ = 0;
  int64_t moved_ = 0;
  double moved_wait_ = 0;
  double longest_busy_ = 0;  // Of any worker's mean.
};

// CGP under a driver that is watched.
struct CgpRun {
  CgpRun(const CgpOptions& cgp, PolicyDriver::Options options)
      : watch(cgp, options.tick_delay),
        policy(MakePolicy(cgp)),
        driver(*policy, [&] {
          options.observer = &watch;
          return options;
        }()) {}

  CgpWatch watch;
  std::unique_ptr<SyncPolicy> policy;
  PolicyDriver driver;
};

// "2s V2: 0(0) 2(1)", without the warm-up and in its time and versions.
std::vector<std::string> UpdatesOf(const CgpWatch& watch, double warmup) {
  std::vector<std::string> lines;
  for (const Update& update : watch.updates()) {
    const double at = update.at - std::round(warmup * kSecond);
    if (at <= 0) continue;
    lines.push_back(absl::StrCat(
        absl::FormatDuration(absl::Nanoseconds(at)), " V", update.version - 1,
        ": ",
        absl::StrJoin(update.staleness, " ",
                      [](std::string* out, const auto& push) {
                        absl::StrAppend(out, push.first, "(", push.second, ")");
                      })));
  }
  return lines;
}

TEST(CgpTraceTest, G1MergesWhatIsReadyAtOneInstant) {
  CgpRun run({.delta = 0, .patience = std::nullopt, .warmup_rounds = 1},
             {.times = Seconds({1, 1, 2, 4})});
  run.driver.RunUntil(8 * kSecond);
  EXPECT_THAT(UpdatesOf(run.watch, 4),
              ElementsAre("1s V1: 0(0) 1(0)", "2s V2: 0(0) 1(0) 2(1)",
                          "3s V3: 0(0) 1(0)", "4s V4: 0(0) 1(0) 2(1) 3(3)"));
}

TEST(CgpTraceTest, G2WaitsForThePredicted) {
  CgpRun run({.patience = std::nullopt, .warmup_rounds = 1},
             {.times = Seconds({1, 1.9})});
  run.driver.RunUntil(5.9 * kSecond);
  EXPECT_THAT(UpdatesOf(run.watch, 1.9),
              ElementsAre("1s V1: 0(0)", "2s V2: 0(0) 1(1)", "3s V3: 0(0)",
                          "4s V4: 0(0) 1(1)"));
}

// The worker's first iterations take other times.
auto Scripted(uint32_t scripted, std::vector<double> times) {
  return [scripted, times = Seconds(std::move(times)), next = size_t{0}](
             WorkerId worker, double usual) mutable {
    if (ToNumber(worker) != scripted || next == times.size()) return usual;
    return times[next++];
  };
}

TEST(CgpTraceTest, G3HandsTheLatePushOver) {
  CgpRun run(
      {.delta = 0, .warmup_rounds = 1},
      {.times = Seconds({1, 1, 2}), .time_of = Scripted(1, {1, 1, 3.2})});
  run.driver.RunUntil(8 * kSecond);
  EXPECT_THAT(UpdatesOf(run.watch, 2),
              ElementsAre("1s V1: 0(0) 1(0)", "2s V2: 2(1)", "2.5s V3: 0(1)",
                          "3.5s V4: 0(0)", "4s V5: 2(2)", "4.5s V6: 0(1) 1(4)",
                          "5.5s V7: 0(0) 1(0)", "6s V8: 2(2)"));
  EXPECT_EQ(run.watch.late(), 1);
}

struct Case {
  std::string name;
  CgpOptions cgp;
  bool faults = true;
};

struct Outcome {
  std::vector<std::string> violations;
  std::string trace;
  int64_t pushes = 0;
  int64_t late = 0;
};

class CgpInvariantsTest : public testing::TestWithParam<Case> {
 protected:
  static Outcome RunSeed(uint64_t seed) {
    Rng rng(seed);
    PolicyDriver::Options options{.seed = seed,
                                  .faults = GetParam().faults,
                                  .fault_every = 1.5 * kSecond};
    for (uint64_t n = 1 + rng.Below(rng.Chance(1, 8) ? 40 : 8); n > 0; --n) {
      options.times.push_back(static_cast<double>(5 + rng.Below(30)) * kSecond /
                              10);
    }
    if (rng.Chance(1, 2)) options.tick_delay = kSecond / 50;
    if (rng.Chance(2, 3)) {
      options.time_of = [&rng](WorkerId, double usual) {
        return std::floor(usual * (1 + rng.Unit() / 10));
      };
    }
    CgpRun run(GetParam().cgp, options);
    if (GetParam().faults) {
      run.driver.RunThroughFaults();
    } else {
      run.driver.RunUntil(60 * kSecond);
    }
    return {run.driver.violations(), run.driver.trace(), run.watch.pushes(),
            run.watch.late()};
  }
};

TEST_P(CgpInvariantsTest, HoldForEverySeed) {
  int64_t late = 0;
  for (uint64_t seed = 0; seed < SeedCount(500); ++seed) {
    const Outcome outcome = RunSeed(seed);
    ASSERT_THAT(outcome.violations, IsEmpty()) << "seed " << seed;
    ASSERT_GT(outcome.pushes, 10) << "seed " << seed;
    late += outcome.late;
  }
  // Who is alone in his group is late for nobody.
  if (GetParam().faults && GetParam().cgp.patience.has_value() &&
      GetParam().cgp.beta < 1) {
    EXPECT_GT(late, static_cast<int64_t>(SeedCount(100)));
  }
}

TEST_P(CgpInvariantsTest, OneSeedGivesOneHistory) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(RunSeed(seed).trace, RunSeed(seed).trace);
    EXPECT_NE(RunSeed(seed).trace, RunSeed(seed + 1).trace);
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
    Rng rng(seed);
    CgpRun run({.delta = 0, .patience = std::nullopt, .warmup_rounds = 1},
               {.times = Seconds({1, 1.05, 1.4, 2, 2.1, 3.7}),
                .time_of = [&rng](WorkerId, double usual) {
                  return std::floor(usual * (1 + rng.Unit() / 10));
                }});
    run.driver.RunUntil(60 * kSecond);
    for (const Update& update : run.watch.updates()) {
      ASSERT_EQ(update.rounds, 1) << seed;
    }
    EXPECT_GT(run.watch.updates().size(), 60u);
  }
}

// MERGE makes fewer updates of the same rounds.
TEST(CgpTest, MergeSavesUpdates) {
  const auto updates = [](double delta) {
    CgpRun run({.delta = delta, .patience = std::nullopt, .warmup_rounds = 1},
               {.times = Seconds({1, 1.9})});
    run.driver.RunUntil(101.9 * kSecond);
    return run.watch.updates().size();
  };
  EXPECT_EQ(updates(0.25), 101u);
  EXPECT_GT(updates(0), 145u);
}

TEST(CgpTest, OneGroupIsBsp) {
  CgpRun run({.beta = 0, .patience = std::nullopt},
             {.times = Seconds({1, 2, 5})});
  run.driver.RunUntil(500 * kSecond);
  EXPECT_EQ(run.watch.updates().size(), 100u);
  EXPECT_EQ(run.watch.pushes(), 300);
  for (const Update& update : run.watch.updates()) {
    for (const auto& [worker, staleness] : update.staleness) {
      EXPECT_EQ(staleness, 0);
    }
  }
}

TEST(CgpTest, AllOnTheirOwnAreAsp) {
  CgpRun run(
      {.beta = 1, .delta = 0, .patience = std::nullopt, .warmup_rounds = 1},
      {.times = Seconds({1, 2, 5})});
  run.driver.RunUntil(505 * kSecond);
  EXPECT_EQ(run.watch.pushes(), 3 + 500 + 250 + 100);
}

// However unlike they are: there are no more groups than accumulators.
TEST(CgpTest, ManyUnlikeWorkersAreSynchronousInsideTheirGroups) {
  std::vector<double> times;
  double asp = 0;
  for (int i = 0; i < 40; ++i) {
    times.push_back(1 + 0.037 * i);
    asp += 200 / times.back();
  }
  CgpRun run({.beta = 1, .delta = 0, .warmup_rounds = 1},
             {.times = Seconds(times)});
  run.driver.RunUntil(200 * kSecond);
  EXPECT_THAT(run.driver.violations(), IsEmpty());
  EXPECT_EQ(run.watch.immediate(), 0);
  EXPECT_GT(static_cast<double>(run.watch.pushes()), 0.88 * asp);
}

// Paces that scatter do not move them for ever.
TEST(CgpTest, GroupsStayWhileTheyAreGood) {
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) times.push_back(1 + 0.05 * i);
  Rng rng(3);
  const auto scattered = [&rng](WorkerId, double usual) {
    return std::round(usual * (0.9 + 0.2 * rng.Unit()));
  };
  CgpRun run({.beta = 0.8, .delta = 0, .warmup_rounds = 3},
             {.times = Seconds(times), .time_of = scattered});
  run.driver.RunUntil(2'000 * kSecond);
  EXPECT_THAT(run.driver.violations(), IsEmpty());
  EXPECT_GT(run.watch.moved(), 0);
  // Each of them some times, in some 900 iterations each.
  EXPECT_LT(run.watch.moved(), 400);
}

// Its new group is in the middle of a round that takes a second or two.
TEST(CgpTest, WhoMovesDoesNotWait) {
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) times.push_back(1 + 0.05 * i);
  Rng rng(4);
  const auto scattered = [&rng](WorkerId, double usual) {
    return std::round(usual * (0.8 + 0.4 * rng.Unit()));
  };
  CgpRun run({.beta = 0.8, .delta = 0, .warmup_rounds = 3, .regroup_every = 5},
             {.times = Seconds(times), .time_of = scattered});
  run.driver.RunUntil(2'000 * kSecond);
  EXPECT_THAT(run.driver.violations(), IsEmpty());
  ASSERT_GT(run.watch.moved(), 100);
  EXPECT_LT(run.watch.moved_wait(),
            0.1 * kSecond * static_cast<double>(run.watch.moved()));
}

// The speed guarantee is kept, not only predicted.
TEST(CgpTest, KeepsBetaOfTheSpeedOfAsp) {
  Rng rng(5);
  for (int i = 0; i < 30; ++i) {
    std::vector<double> times;
    double asp = 0;
    for (uint64_t n = 2 + rng.Below(8); n > 0; --n) {
      times.push_back(static_cast<double>(500 + rng.Below(4'000)) / 1000);
      asp += 400 / times.back();
    }
    CgpRun run({.delta = 0, .patience = std::nullopt, .warmup_rounds = 1},
               {.times = Seconds(times)});
    run.driver.RunUntil(400 * kSecond);
    // Less the warm-up and the last iterations.
    EXPECT_GT(static_cast<double>(run.watch.pushes()), 0.9 * asp * 0.96) << i;
  }
}

// A group is divided when a member has become slow for good.
TEST(CgpTest, RegroupsOnDrift) {
  // As fast as the others while they are measured.
  CgpRun run(
      {.delta = 0,
       .patience = std::nullopt,
       .warmup_rounds = 2,
       .regroup_every = 1'000'000},
      {.times = Seconds({1, 1, 1, 3}), .time_of = Scripted(3, {1, 1, 1})});
  run.driver.RunUntil(200 * kSecond);
  EXPECT_GT(run.watch.pushes(), 3 * 170 + 60);
}

}  // namespace
}  // namespace paceline
