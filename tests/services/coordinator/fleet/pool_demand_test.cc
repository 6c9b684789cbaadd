#include "services/coordinator/fleet/pool_demand.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

AssignableWorker Worker(uint64_t id, const std::string& pool,
                        const std::string& gpu_model = "") {
  AssignableWorker worker;
  worker.id = id;
  worker.pool = pool;
  worker.gpu_model = gpu_model;
  return worker;
}

AssignableJob Job(JobNumber number, int min, int max,
                  std::vector<std::string> pools = {}) {
  AssignableJob job;
  job.number = number;
  job.min = min;
  job.max = max;
  job.pools = std::move(pools);
  return job;
}

TEST(PoolDemandTest, NobodyWantsAnything) {
  EXPECT_THAT(PoolDemand({}, {}), IsEmpty());
  EXPECT_THAT(PoolDemand({Worker(1, "a")}, {}), ElementsAre(Pair("a", 0)));
}

TEST(PoolDemandTest, MaximaAddUpAndMinimaStandForNone) {
  EXPECT_THAT(PoolDemand({}, {Job(1, 1, 4, {"a"}), Job(2, 2, 0, {"a", "b"})}),
              ElementsAre(Pair("a", 6), Pair("b", 2)));
}

TEST(PoolDemandTest, WithoutNamesTheWorkersThatSuitTellThePools) {
  AssignableJob job = Job(1, 1, 3);
  job.gpu_models = {"T4"};
  AssignableWorker evaluator = Worker(4, "d", "T4");
  evaluator.evaluator = true;
  EXPECT_THAT(PoolDemand({Worker(1, "a", "T4"), Worker(2, "b", "T4"),
                          Worker(3, "c", "H100"), evaluator},
                         {job}),
              ElementsAre(Pair("a", 3), Pair("b", 3), Pair("c", 0)));
}

TEST(PoolDemandTest, AJobThatIsAboutToStopWantsNobody) {
  AssignableJob job = Job(1, 1, 3, {"a"});
  for (const auto trainers : {TrainersWanted::kNoMore, TrainersWanted::kNone}) {
    job.trainers = trainers;
    EXPECT_THAT(PoolDemand({}, {job}), IsEmpty());
  }
}

TEST(PoolDemandTest, AJobThatIsInterruptedWantsAsManyAsBefore) {
  AssignableJob job = Job(1, 1, 3, {"a"});
  job.goes_on = true;
  for (const auto trainers : {TrainersWanted::kNoMore, TrainersWanted::kNone}) {
    job.trainers = trainers;
    EXPECT_THAT(PoolDemand({}, {job}), ElementsAre(Pair("a", 3)));
  }
}

TEST(PoolDemandTest, ThePoolsAreBounded) {
  std::vector<AssignableJob> jobs;
  for (size_t i = 0; i < 2 * kPoolsMax; ++i) {
    jobs.push_back(Job(i, 1, 1, {absl::StrCat("p", i)}));
  }
  EXPECT_EQ(PoolDemand({}, jobs).size(), kPoolsMax);
  const auto demand = PoolDemand({Worker(1, "zoo")}, jobs);
  EXPECT_EQ(demand.size(), kPoolsMax);
  EXPECT_TRUE(demand.contains("zoo")) << "it has workers";
}

}  // namespace
}  // namespace paceline
