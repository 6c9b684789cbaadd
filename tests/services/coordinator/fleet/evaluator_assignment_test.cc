#include "gtest/gtest.h"
#include "services/coordinator/fleet/assignment.h"
#include "tests/services/coordinator/fleet/small_cluster.h"

namespace paceline {
namespace {

// Jobs that run, with a worker each, and have something to evaluate.
SmallCluster WithRunningJobs(int jobs) {
  SmallCluster cluster;
  cluster.AddWorkers(jobs);
  for (int i = 0; i < jobs; ++i) cluster.AddJob(1, 1);
  cluster.Settle();
  for (int i = 1; i <= jobs; ++i) cluster.job(i).evaluation_pending = true;
  return cluster;
}

TEST(EvaluatorAssignmentTest, AJobThatHasSomethingToEvaluateGetsOne) {
  SmallCluster cluster = WithRunningJobs(2);
  cluster.AddEvaluator();
  cluster.job(1).evaluation_pending = false;
  EXPECT_EQ(cluster.Step(), "assign 3 to 2");
  EXPECT_EQ(cluster.Step(), "");
}

TEST(EvaluatorAssignmentTest, OneThatIsUnfitForAJobServesTheOthers) {
  SmallCluster cluster = WithRunningJobs(2);
  cluster.AddEvaluator();
  cluster.worker(3).unfit_for = {1};
  EXPECT_EQ(cluster.Step(), "assign 3 to 2");
  cluster.now += absl::Hours(1);
  EXPECT_EQ(cluster.Step(), "");  // Nothing is won by taking it from there.
}

TEST(EvaluatorAssignmentTest, OneIsEnoughForAJob) {
  SmallCluster cluster = WithRunningJobs(1);
  cluster.AddEvaluator();
  cluster.AddEvaluator();
  EXPECT_EQ(cluster.Step(), "assign 2 to 1");
  EXPECT_EQ(cluster.Step(), "");
}

TEST(EvaluatorAssignmentTest, AnEvaluatorIsNoTrainer) {
  SmallCluster cluster;
  cluster.AddEvaluator();
  cluster.AddJob(1);
  cluster.job(1).evaluation_pending = true;
  EXPECT_EQ(cluster.Step(), "");
}

TEST(EvaluatorAssignmentTest, ItStaysWhileNobodyElseNeedsIt) {
  SmallCluster cluster = WithRunningJobs(2);
  cluster.AddEvaluator();
  cluster.job(2).evaluation_pending = false;
  cluster.Settle();
  cluster.job(1).evaluation_pending = false;
  cluster.now += absl::Hours(1);
  EXPECT_EQ(cluster.Step(), "");
  cluster.job(2).evaluation_pending = true;
  EXPECT_EQ(cluster.Step(),
            "release 3 of 1: another job waits for an evaluator");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 3 to 2");
}

TEST(EvaluatorAssignmentTest, ItMovesOnAfterTheHold) {
  SmallCluster cluster = WithRunningJobs(2);
  cluster.AddEvaluator();
  EXPECT_EQ(cluster.Step(), "assign 3 to 1");
  const absl::Time until = cluster.now + absl::Seconds(2);
  EXPECT_EQ(cluster.Step(), "");
  cluster.now = until - absl::Nanoseconds(1);
  EXPECT_EQ(cluster.Step(), "");
  cluster.now = until;
  EXPECT_EQ(cluster.Step(),
            "release 3 of 1: another job waits for an evaluator");
  EXPECT_EQ(cluster.Step(), "");  // It is on its way.
}

TEST(EvaluatorAssignmentTest, AllJobsHaveTheirTurn) {
  SmallCluster cluster = WithRunningJobs(5);
  cluster.AddEvaluator();
  cluster.AddEvaluator();
  std::map<JobNumber, int> turns;
  for (int i = 0; i < 50; ++i) {
    cluster.Step();
    for (const auto& move : cluster.plan().assign) ++turns[move.job];
    cluster.now += absl::Seconds(1);
    cluster.AllLeave();
  }
  ASSERT_EQ(turns.size(), 5u);
  for (const auto& [job, count] : turns) {
    EXPECT_NEAR(count, turns[1], 1) << job;
  }
  EXPECT_GT(turns[1], 3);
}

TEST(EvaluatorAssignmentTest, TheIdleOneGoesFirst) {
  SmallCluster cluster = WithRunningJobs(3);
  cluster.AddEvaluator();
  cluster.AddEvaluator();
  cluster.job(3).evaluation_pending = false;
  cluster.Settle();
  cluster.now += absl::Hours(1);
  cluster.job(2).evaluation_pending = false;
  cluster.job(3).evaluation_pending = true;
  EXPECT_EQ(cluster.Step(),
            "release 5 of 2: another job waits for an evaluator");
}

TEST(EvaluatorAssignmentTest, ItIsReleasedWhenDrainedOrItsJobHasEnded) {
  SmallCluster cluster = WithRunningJobs(3);
  cluster.AddEvaluator();
  cluster.AddEvaluator();
  cluster.Settle();
  cluster.worker(4).draining = true;
  cluster.job(2).evaluation_pending = false;
  cluster.job(3).evaluation_pending = false;
  EXPECT_EQ(cluster.Step(), "release 4 of 1: it is drained");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(),
            "release 5 of 2: another job waits for an evaluator");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 5 to 1");
  cluster.EndJob(1);
  EXPECT_EQ(cluster.Step(),
            "release 1 of 1: the job has ended; "
            "release 5 of 1: the job has ended");
}

TEST(EvaluatorAssignmentTest, PoolsAndQuotaDoNotMatter) {
  SmallCluster cluster;
  cluster.limits.workers_per_namespace = 1;
  cluster.AddWorkers(1, "a");
  cluster.AddEvaluator();
  cluster.AddJob(1, 0, {"a"});
  cluster.Settle();
  cluster.job(1).evaluation_pending = true;
  EXPECT_EQ(cluster.Step(), "assign 2 to 1");
}

}  // namespace
}  // namespace paceline
