// Thousands of random clusters. On the way SmallCluster checks every move: free
// workers only, selectors, minimum, maximum, quota. Here: it comes to rest, and
// then nobody waits who could be covered.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/coordinator/fleet/assignment.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/fleet/small_cluster.h"

namespace paceline {
namespace {

constexpr int kChanges = 12;  // Of each.

std::vector<std::string> SomeOf(Rng& rng, const std::vector<std::string>& of) {
  std::vector<std::string> some;
  if (rng.Chance(1, 2)) return some;  // Any.
  for (const std::string& name : of) {
    if (rng.Chance(1, 2)) some.push_back(name);
  }
  return some;
}

const std::vector<std::string> kPools = {"a", "b", "c"};
const std::vector<std::string> kModels = {"T4", "H100"};

void AddJob(Rng& rng, SmallCluster& cluster) {
  const int min = 1 + static_cast<int>(rng.Below(4));
  const int max = rng.Chance(1, 2) ? min + static_cast<int>(rng.Below(4)) : 0;
  AssignableJob& job =
      cluster.job(cluster.AddJob(min, max, SomeOf(rng, kPools)));
  job.gpu_models = SomeOf(rng, kModels);
  job.name_space = absl::StrCat("n", rng.Below(2));
  job.evaluation_pending = rng.Chance(1, 2);
  job.priority = static_cast<int>(rng.Below(3)) - 1;
}

void AddWorker(Rng& rng, SmallCluster& cluster) {
  if (rng.Chance(1, 8)) {
    cluster.AddEvaluator();
    return;
  }
  cluster.AddWorkers(1, kPools[rng.Below(3)], kModels[rng.Below(2)]);
}

template <class Key, class Value>
Key AnyOf(Rng& rng, const std::map<Key, Value>& map) {
  return std::next(map.begin(), rng.Below(map.size()))->first;
}

void Change(Rng& rng, SmallCluster& cluster) {
  const bool jobs = !cluster.jobs().empty();
  const bool workers = !cluster.workers().empty();
  switch (rng.Below(7)) {
    case 0:
    case 1:
      return AddJob(rng, cluster);
    case 2:
      return AddWorker(rng, cluster);
    case 3:
      if (jobs) cluster.EndJob(AnyOf(rng, cluster.jobs()));
      return;
    case 4:
      if (workers) cluster.RemoveWorker(AnyOf(rng, cluster.workers()));
      return;
    case 5:
      if (workers) {
        AssignableWorker& worker =
            cluster.worker(AnyOf(rng, cluster.workers()));
        worker.draining = !worker.draining;
      }
      return;
    default:
      if (jobs) {
        AssignableJob& job = cluster.job(AnyOf(rng, cluster.jobs()));
        job.max = rng.Chance(1, 2) ? 0 : job.min;
        job.evaluation_pending = !job.evaluation_pending;
        job.priority = static_cast<int>(rng.Below(3)) - 1;
      }
  }
}

// Whether free workers and those that running jobs of no higher priority could
// spare would cover the job, as a person would count it; the quota left to the
// job alone.
bool CouldBeCovered(const SmallCluster& cluster, const AssignableJob& job) {
  int can_have = 0;
  int quota = cluster.limits.workers_per_namespace;
  const bool limited = quota > 0;
  std::map<JobNumber, int> spare;
  for (const auto& [number, other] : cluster.jobs()) {
    spare[number] = other.running && other.priority <= job.priority
                        ? std::max(0, cluster.WorkersOf(number) - other.min)
                        : 0;
    if (other.name_space != job.name_space || number == job.number) continue;
    quota -= cluster.WorkersOf(number) - spare[number];
  }
  for (const auto& [id, worker] : cluster.workers()) {
    if (worker.evaluator || worker.draining || !Selects(job, worker)) continue;
    if (!worker.job.has_value() || *worker.job == job.number) {
      ++can_have;
    } else if (spare[*worker.job] > 0) {
      --spare[*worker.job];
      ++can_have;
    }
  }
  return can_have >= job.min && (!limited || quota >= job.min);
}

void CheckAtRest(const SmallCluster& cluster) {
  for (const auto& [number, job] : cluster.jobs()) {
    if (!job.running) {
      EXPECT_FALSE(CouldBeCovered(cluster, job))
          << "job " << number << " starves: " << cluster.Layout();
    }
    // Nobody free that a running job could have.
    if (!job.running || cluster.limits.workers_per_namespace > 0) continue;
    if (job.max > 0 && cluster.WorkersOf(number) >= job.max) continue;
    for (const auto& [id, worker] : cluster.workers()) {
      if (worker.evaluator || worker.draining || !Selects(job, worker))
        continue;
      EXPECT_TRUE(worker.job.has_value())
          << "worker " << id << " idles: " << cluster.Layout();
      if (!worker.job.has_value()) continue;
      const AssignableJob& other = cluster.jobs().at(*worker.job);
      EXPECT_FALSE(other.priority < job.priority &&
                   cluster.WorkersOf(other.number) > other.min)
          << "worker " << id << " is of more use to job " << number << ": "
          << cluster.Layout();
    }
  }
}

TEST(AssignmentFuzzTest, ComesToRestAndNobodyStarves) {
  for (uint64_t seed = 0; seed < SeedCount(15'000); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(seed);
    SmallCluster cluster;
    if (rng.Chance(1, 2)) {
      cluster.limits.workers_per_namespace = 2 + static_cast<int>(rng.Below(8));
    }
    const uint64_t workers = rng.Below(13);
    for (uint64_t i = 0; i < workers; ++i) AddWorker(rng, cluster);
    for (int change = 0; change < kChanges; ++change) {
      Change(rng, cluster);
      // Changes come at any time, also while workers leave.
      if (rng.Chance(1, 2)) {
        cluster.Step();
        if (rng.Chance(1, 2)) cluster.AllLeave();
        continue;
      }
      cluster.Settle();
      CheckAtRest(cluster);
    }
    cluster.Settle();
    CheckAtRest(cluster);
    if (testing::Test::HasFailure()) return;
  }
}

// Jobs end one after the other: all that fits into the cluster has run.
TEST(AssignmentFuzzTest, EveryJobThatFitsRunsInTheEnd) {
  for (uint64_t seed = 0; seed < SeedCount(1'500); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Rng rng(seed);
    SmallCluster cluster;
    for (int i = 0; i < 8; ++i) {
      cluster.AddWorkers(1, kPools[rng.Below(3)], kModels[rng.Below(2)]);
    }
    for (int i = 0; i < 10; ++i) AddJob(rng, cluster);
    std::set<JobNumber> fits;
    for (const auto& [number, job] : cluster.jobs()) {
      int matching = 0;
      for (const auto& [id, worker] : cluster.workers()) {
        matching += Selects(job, worker) ? 1 : 0;
      }
      if (matching >= job.min) fits.insert(number);
    }
    std::set<JobNumber> ran;
    for (int round = 0; round < 10; ++round) {
      cluster.Settle();
      std::vector<JobNumber> running;
      for (const auto& [number, job] : cluster.jobs()) {
        if (job.running) running.push_back(number);
      }
      ran.insert(running.begin(), running.end());
      if (!running.empty()) {
        cluster.EndJob(running[rng.Below(running.size())]);
      }
    }
    EXPECT_EQ(ran, fits);
  }
}

}  // namespace
}  // namespace paceline
