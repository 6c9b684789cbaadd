// A hundred workers say of many what all of them would say.

#include "services/coordinator/planner/worker_sample.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/job/batched_paradigm.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/planner/forecast.h"
#include "services/coordinator/planner/tempo.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/planner/measured_workers.h"

namespace paceline {
namespace {

const PlayedJob kJob = {.batch_size = kBatch};

std::vector<double> Repeated(const std::vector<double>& pattern,
                             size_t workers) {
  std::vector<double> seconds;
  while (seconds.size() < workers) {
    seconds.push_back(pattern[seconds.size() % pattern.size()]);
  }
  return seconds;
}

// Every pace between 1 and 4, each about as often.
std::vector<double> AllPaces(size_t workers, uint64_t seed) {
  Rng rng(seed);
  std::vector<double> seconds;
  for (size_t i = 0; i < workers; ++i) seconds.push_back(1 + 3 * rng.Unit());
  return seconds;
}

size_t MembersOf(const std::vector<Stratum>& strata) {
  std::set<size_t> members;
  for (const Stratum& stratum : strata) {
    members.insert(stratum.members.begin(), stratum.members.end());
    EXPECT_THAT(stratum.members, testing::Contains(stratum.pick));
  }
  return members.size();
}

TEST(WorkerSampleTest, EverybodyIsStoodForByOneOfThatPace) {
  const auto workers = Measured(AllPaces(777, 5));
  const std::vector<Stratum> strata = Stratify(kJob, workers, 100);
  ASSERT_EQ(strata.size(), 100u);
  EXPECT_EQ(MembersOf(strata), 777u);
  double before = 0;
  for (const Stratum& stratum : strata) {
    EXPECT_GE(stratum.members.size(), 7u);
    EXPECT_LE(stratum.members.size(), 8u);
    for (const size_t member : stratum.members) {
      const double seconds = SecondsOfBatch(kJob, workers[member]);
      EXPECT_GE(seconds, before);
      before = seconds;
    }
  }
}

TEST(WorkerSampleTest, TheSlowestIsAlwaysThere) {
  std::vector<double> seconds(500, 1);
  seconds[123] = 9;
  const std::vector<Stratum> strata = Stratify(kJob, Measured(seconds), 100);
  EXPECT_EQ(strata.back().pick, 123u);
}

TEST(WorkerSampleTest, PoolsAreToldApart) {
  auto workers = Measured(std::vector<double>(200, 1));
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].pool = i < 10 ? "few" : i < 60 ? "some" : "";
  }
  const std::vector<Stratum> strata = Stratify(kJob, workers, 20);
  std::map<std::string, size_t> strata_of;
  for (const Stratum& stratum : strata) {
    std::set<std::string> pools;
    for (const size_t member : stratum.members) {
      pools.insert(workers[member].pool);
    }
    EXPECT_EQ(pools.size(), 1u);
    ++strata_of[*pools.begin()];
  }
  EXPECT_EQ(MembersOf(strata), 200u);
  EXPECT_EQ(strata_of["few"], 1u);
  EXPECT_EQ(strata_of["some"], 5u);
  EXPECT_EQ(strata_of[""], 14u);
  // Each worker a pool of its own: then the pace is all that counts.
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].pool = absl::StrCat(i);
  }
  EXPECT_EQ(MembersOf(Stratify(kJob, workers, 20)), 200u);
}

TEST(WorkerSampleTest, TheLatestOfAStratumWaitsForAllOfIt) {
  auto workers = Measured({1, 1, 1});
  for (size_t i = 0; i < workers.size(); ++i) {
    // Half as often slow each; never two of them in the same iteration.
    for (size_t k = 0; k < workers[i].iterations.size(); ++k) {
      if (k % 4 == i) workers[i].iterations[k].compute = absl::Seconds(5);
    }
  }
  Stratum stratum{.pick = 0, .members = {0, 1, 2}};
  const MeasuredWorker latest = LatestOf(kJob, workers, stratum);
  ASSERT_EQ(latest.iterations.size(), PaceHistory::kKept);
  const auto slow = [](const MeasuredWorker& worker) {
    return std::ranges::count(worker.iterations, absl::Seconds(5),
                              &MeasuredIteration::compute);
  };
  EXPECT_EQ(slow(workers[0]), 16);
  EXPECT_GT(slow(latest), 16);
  stratum.members = {1};
  EXPECT_EQ(slow(LatestOf(kJob, workers, stratum)), 16);
}

TEST(WorkerSampleTest, PiecesOfABatchAreWholeBatchesToWhoWaits) {
  auto workers = Measured({2});
  for (MeasuredIteration& it : workers[0].iterations) {
    it.samples = kBatch / 4;
    it.compute = absl::Milliseconds(500);
  }
  const MeasuredWorker latest = LatestOf(kJob, workers, {0, {0}});
  EXPECT_EQ(latest.iterations.front().samples, kBatch);
  EXPECT_NEAR(absl::ToDoubleSeconds(latest.iterations.front().compute), 2,
              1e-6);
}

std::string Among(const std::string& text, size_t some, size_t all) {
  const auto among = AmongSome(*ParseParadigm(text), some, all);
  return among.has_value() ? FormatParadigm(*among) : "";
}

TEST(WorkerSampleTest, NumbersOfPushesAreDivided) {
  EXPECT_EQ(Among("kbatchsync:k=750", 100, 1000), "kbatchsync:k=75");
  EXPECT_EQ(Among("kasync:k=80", 100, 200), "kasync:k=40");
  EXPECT_EQ(Among("backup:b=0", 100, 200), "backup:b=0");
  EXPECT_THAT(Among("saps:s=100,sync_every=200", 100, 200),
              testing::HasSubstr("s=50,"));
  EXPECT_THAT(
      Among("asp:staleness_weight=inverse,staleness_cap=500", 100, 1000),
      testing::EndsWith("staleness_cap=50"));
  // Iterations stay what they are.
  EXPECT_EQ(Among("ssp:s=3", 100, 1000), "ssp:s=3");
  // Rounded these would be other rules.
  EXPECT_EQ(Among("kasync:k=2", 100, 1000), "");
  EXPECT_EQ(Among("backup:b=20", 100, 1000), "");
  EXPECT_EQ(Among("syncswitch", 100, 1000), "");
}

struct Many {
  std::string name;
  std::vector<double> seconds;
  Scatter scatter = Scatter::kNone;
  // A pool of every fifth has bursts, whatever the others do.
  bool unsteady_pool = false;
  // Of the value of the best what is chosen has at least. Where about as many
  // as a round takes are slow by chance, a tenth is luck.
  double least = 0.97;
};

std::vector<Many> ManyWorkers(size_t workers, uint64_t seed) {
  std::vector<double> few_slow(workers, 1);
  for (size_t i = 0; i < workers; i += 50) few_slow[(i + seed) % workers] = 6;
  return {
      {.name = "equal", .seconds = Repeated({1}, workers)},
      {.name = "a quarter slow", .seconds = Repeated({1, 1, 1, 4}, workers)},
      {.name = "all paces", .seconds = AllPaces(workers, seed)},
      {.name = "without memory",
       .seconds = Repeated({1}, workers),
       .scatter = Scatter::kExponential},
      {.name = "four speeds", .seconds = Repeated({1, 1.3, 1.7, 2.9}, workers)},
      {.name = "few very slow", .seconds = few_slow},
      {.name = "bursts",
       .seconds = Repeated({1}, workers),
       .scatter = Scatter::kBursts,
       .least = 0.9},
      {.name = "two, without memory",
       .seconds = Repeated({1, 3}, workers),
       .scatter = Scatter::kExponential},
      {.name = "an unsteady pool",
       .seconds = Repeated({1, 1.5}, workers),
       .unsteady_pool = true}};
}

std::vector<MeasuredWorker> MeasuredOf(const Many& many, uint64_t seed) {
  auto workers = Measured(many.seconds, many.scatter);
  if (many.unsteady_pool) {
    const auto others = Measured(many.seconds, Scatter::kBursts);
    for (size_t i = seed % 5; i < workers.size(); i += 5) {
      workers[i] = others[i];
      workers[i].pool = "unsteady";
    }
  }
  return workers;
}

// What is chosen by the sample is worth as much as what is best by all.
void ExpectGoodChoice(const Many& many, uint64_t seed) {
  const std::vector<MeasuredWorker> workers = MeasuredOf(many, seed);
  const size_t count = workers.size();
  std::string chosen;
  std::string table;
  double best_sampled = 0;
  double best = 0;
  double value_of_chosen = 0;
  for (const std::string& text : ParadigmsFor(count)) {
    const auto [paradigm, batching] = *ParseBatchedParadigm(text);
    PlayedJob job = kJob;
    job.batching = batching;
    const double sampled = Play(paradigm, job, workers, seed).Value(count);
    const double whole = PlayWhole(paradigm, job, workers, seed).Value(count);
    absl::StrAppend(&table, "  ", text, ": ", sampled, " of ", whole, "\n");
    best = std::max(best, whole);
    if (sampled <= best_sampled) continue;
    best_sampled = sampled;
    value_of_chosen = whole;
    chosen = text;
  }
  EXPECT_GE(value_of_chosen, many.least * best)
      << count << " workers, " << many.name << ", seed " << seed << ": "
      << chosen << "\n"
      << table;
}

TEST(WorkerSampleTest, TheRuleThatIsChosenIsNearTheBestOfAll) {
  for (uint64_t seed = 2; seed < 2 + SeedCount(5); ++seed) {
    for (const Many& many : ManyWorkers(100 * seed, seed)) {
      ExpectGoodChoice(many, seed);
    }
  }
}

TEST(WorkerSampleTest, AlsoOfAThousand) {
  const std::vector<Many> all = ManyWorkers(1000, 4);
  for (size_t i = 0; i < std::min<size_t>(all.size(), SeedCount(10)); ++i) {
    ExpectGoodChoice(all[i], 4);
  }
}

// An update of many batches is worth less, however few are played.
TEST(WorkerSampleTest, ASampleKnowsTheBatchesOfARound) {
  PlayedJob job = kJob;
  job.ada_scale = true;
  job.noise = 100;
  const auto workers = Measured(AllPaces(300, 3));
  for (const char* const rule :
       {"bsp", "bsp:steal=true", "kbatchsync:k=150", "kbatchsync:k=600"}) {
    const ParadigmSpec paradigm = *ParseParadigm(rule);
    const Forecast some = Play(paradigm, job, workers);
    const Forecast all = PlayWhole(paradigm, job, workers);
    EXPECT_NEAR(some.round_batches / all.round_batches, 1, 0.05) << rule;
    EXPECT_NEAR(some.efficiency, all.efficiency, 0.02) << rule;
    EXPECT_LT(some.efficiency, 0.5) << rule;
  }
}

}  // namespace
}  // namespace paceline
