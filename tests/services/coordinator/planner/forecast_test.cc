#include "services/coordinator/planner/forecast.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/job/batched_paradigm.h"
#include "gtest/gtest.h"
#include "services/coordinator/planner/tempo.h"
#include "tests/services/coordinator/planner/measured_workers.h"

namespace paceline {
namespace {

const PlayedJob kJob = {.batch_size = kBatch};
const std::vector<double> kEqual(8, 1.0);
const std::vector<double> kTwoSlow = {1, 1, 1, 1, 1, 1, 4, 4};

Forecast PlayText(const std::string& text,
                  const std::vector<MeasuredWorker>& workers,
                  PlayedJob job = kJob, uint64_t luck = 1) {
  const BatchedParadigm of = *ParseBatchedParadigm(text);
  job.batching = of.batching;
  return Play(of.paradigm, job, workers, luck);
}

TEST(ForecastTest, IsWhatTheRuleComesTo) {
  // Rounds of eight batches, as long as the slowest one's.
  const Forecast bsp = PlayText("bsp", Measured(kTwoSlow));
  EXPECT_NEAR(bsp.samples_per_second, 8 * kBatch / 4.0, 4);
  EXPECT_EQ(bsp.staleness, 0);
  // Everybody at its own pace.
  const Forecast asp = PlayText("asp", Measured(kTwoSlow));
  EXPECT_NEAR(asp.samples_per_second, 6.5 * kBatch, 4);
  EXPECT_GT(asp.staleness, 5);
  EXPECT_LT(asp.Value(8), 0.8 * asp.samples_per_second);
  // Everybody as long as all others.
  const Forecast balanced =
      PlayText("bsp,batching=balanced", Measured(kTwoSlow));
  EXPECT_NEAR(balanced.samples_per_second, 6.5 * kBatch, 8);
  EXPECT_EQ(balanced.staleness, 0);
  // What is discarded is not trained on.
  const Forecast half = PlayText("kbatchsync:k=4", Measured(kEqual));
  EXPECT_NEAR(half.samples_per_second, 4 * kBatch, 8);
}

TEST(ForecastTest, TheSameIsForeseenAgain) {
  const auto workers = Measured(kTwoSlow, Scatter::kExponential);
  for (const std::string& text : ParadigmsFor(8)) {
    const Forecast first = PlayText(text, workers, kJob, 7);
    const Forecast again = PlayText(text, workers, kJob, 7);
    EXPECT_EQ(first.samples_per_second, again.samples_per_second);
    EXPECT_EQ(first.staleness, again.staleness);
  }
}

TEST(ForecastTest, WaitingForAParkedPullIsNoPartOfTheNetwork) {
  auto workers = Measured(kEqual);
  for (MeasuredWorker& worker : workers) {
    for (size_t i = 0; i < worker.iterations.size(); ++i) {
      worker.iterations[i].pull =
          i % 2 == 0 ? absl::Milliseconds(1) : absl::Seconds(3);
    }
  }
  EXPECT_NEAR(PlayText("asp", workers).samples_per_second, 8 * kBatch, 4);
}

TEST(ForecastTest, StaleWorkIsWorthLess) {
  EXPECT_EQ(WorthOfStale(0, 8), 1);
  EXPECT_GT(WorthOfStale(0.5, 8), WorthOfStale(1, 8));
  EXPECT_GT(WorthOfStale(1, 8), WorthOfStale(7, 8));
  EXPECT_GT(WorthOfStale(1, 8), WorthOfStale(1, 2));
  EXPECT_EQ(WorthOfStale(0, 1), 1);
}

TEST(ForecastTest, LargeUpdatesAreWorthWhatTheirNoiseSays) {
  // No update is larger by rule, so a sample counts alike in all.
  const auto workers = Measured(kEqual);
  EXPECT_EQ(PlayText("bsp", workers).efficiency, 1);
  EXPECT_NEAR(PlayText("bsp", workers).round_batches, 8, 0.25);
  EXPECT_EQ(PlayText("bsp", workers).in_rounds, 1);
  EXPECT_NEAR(PlayText("kbatchsync:k=4", workers).round_batches, 4, 0.25);
  EXPECT_EQ(PlayText("asp", workers).in_rounds, 0);

  PlayedJob job = kJob;
  // Seven of eight batches say nothing new.
  job.noise = 0;
  EXPECT_NEAR(PlayText("bsp", workers, job).efficiency, 1.0 / 8, 0.01);
  EXPECT_EQ(PlayText("asp", workers, job).efficiency, 1);
  // Two slow ones are a group by themselves, and are in every fourth round of
  // six, of the 26 batches of four rounds.
  const Forecast groups = PlayText("cgp", Measured(kTwoSlow), job);
  EXPECT_NEAR(groups.efficiency, 4.0 / 26, 0.01);
  // Half as much is learnt from a sample of a round.
  job.noise = 6;
  EXPECT_NEAR(PlayText("bsp", workers, job).efficiency, 0.5, 0.01);
  const double half = PlayText("bsp", workers, job).Value(8);
  EXPECT_NEAR(half, 0.5 * PlayText("bsp", workers).Value(8), 2);
  // And everything.
  job.noise = 1e9;
  EXPECT_NEAR(PlayText("bsp", workers, job).efficiency, 1, 1e-6);
}

// Of small rounds the slow are left out, so that large ones train more samples
// a second.
TEST(ForecastTest, TheNoiseDecidesHowManyBatchesAnUpdateHas) {
  const auto workers = Measured({1, 1, 2, 2, 3, 3, 4, 4});
  const auto best = [&workers](double noise) {
    PlayedJob job = kJob;
    job.noise = noise;
    std::string most;
    double value = 0;
    for (const std::string& text : ParadigmsFor(8, /*ada_scale=*/true)) {
      if (text.rfind("kbatchsync", 0) != 0) continue;
      const double of = PlayText(text, workers, job).Value(8);
      if (of > value) most = text;
      value = std::max(value, of);
    }
    return most;
  };
  EXPECT_EQ(best(0), "kbatchsync:k=4");
  EXPECT_EQ(best(1000), "kbatchsync:k=16");
}

// Iterations as they are, and the same in four micro-batches, of which each
// after the first takes so much more.
std::vector<MeasuredWorker> Cut(std::vector<MeasuredWorker> workers,
                                double cost) {
  for (MeasuredWorker& worker : workers) {
    for (size_t i = 1; i < worker.iterations.size(); i += 2) {
      MeasuredIteration& it = worker.iterations[i];
      it = worker.iterations[i - 1];
      it.micro_batches = 4;
      it.compute *= 1 + 3 * cost;
    }
  }
  return workers;
}

TEST(ForecastTest, WhatACutCostsIsFoundOut) {
  for (const double cost : {0.0, 0.02, 0.1}) {
    const auto workers = Cut(Measured(kTwoSlow), cost);
    const auto found = MicroBatchCost(kJob, workers);
    ASSERT_TRUE(found.has_value());
    EXPECT_NEAR(*found, cost, 1e-6);
    PlayedJob job = kJob;
    job.micro_batch_cost = *found;
    EXPECT_NEAR(SecondsOfBatch(job, workers.back()), 4, 1e-6);
    // Of the cut ones, too, only what they take uncut is played.
    EXPECT_NEAR(PlayText("bsp", workers, job).samples_per_second, 64, 4);
  }
}

// Whoever steals does more while it is fast: in a round of one second as much
// as its pace of the moment allows.
TEST(ForecastTest, WhatACutCostsIsFoundOutWhereTimesScatter) {
  for (const double cost : {0.0, 0.05, 0.1}) {
    auto workers = Measured(std::vector<double>(8, 1), Scatter::kExponential);
    for (MeasuredWorker& worker : workers) {
      for (size_t i = 1; i < worker.iterations.size(); i += 2) {
        MeasuredIteration& it = worker.iterations[i];
        const double batches = 1 / absl::ToDoubleSeconds(it.compute);
        it.micro_batches = 1 + std::lround(std::min(50.0, 6 * batches));
        const double computed = batches - cost * (it.micro_batches - 1.0);
        it.samples = std::max<long>(1, std::lround(computed * kBatch));
        it.compute = absl::Seconds(1);
      }
    }
    const auto found = MicroBatchCost(kJob, workers);
    ASSERT_TRUE(found.has_value());
    EXPECT_NEAR(*found, cost, 0.03);
  }
}

TEST(ForecastTest, WithoutBothKindsACutCostsWhatIsNotKnown) {
  EXPECT_FALSE(MicroBatchCost(kJob, Measured(kEqual)).has_value());
  auto all_cut = Measured(kEqual);
  for (MeasuredWorker& worker : all_cut) {
    for (MeasuredIteration& it : worker.iterations) it.micro_batches = 4;
  }
  EXPECT_FALSE(MicroBatchCost(kJob, all_cut).has_value());
  // A single piece is neither: whoever is slow gets no more in a round.
  auto single = all_cut;
  for (MeasuredWorker& worker : single) {
    for (size_t i = 0; i < worker.iterations.size(); i += 2) {
      worker.iterations[i].samples = kBatch / 4;
      worker.iterations[i].micro_batches = 1;
    }
  }
  EXPECT_FALSE(MicroBatchCost(kJob, single).has_value());
  // What the job itself cuts is uncut.
  PlayedJob small = kJob;
  small.micro_batch = kBatch / 4;
  EXPECT_EQ(UncutMicroBatches(small, {}, kBatch), 4u);
  // And what a worker does.
  EXPECT_EQ(UncutMicroBatches(kJob, {.micro_batch = 16}, kBatch), 2u);
  EXPECT_FALSE(MicroBatchCost(small, all_cut).has_value());
}

TEST(ForecastTest, EveryParadigmCanBePlayedWithAnyNumberOfWorkers) {
  for (size_t workers = 1; workers <= 9; ++workers) {
    const auto measured = Measured(std::vector<double>(workers, 0.1));
    for (const std::string& text : ParadigmsFor(workers, /*ada_scale=*/true)) {
      EXPECT_GT(PlayText(text, measured).samples_per_second, 0)
          << text << " with " << workers;
    }
  }
}

}  // namespace
}  // namespace paceline
