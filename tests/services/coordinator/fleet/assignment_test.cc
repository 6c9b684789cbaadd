#include "services/coordinator/fleet/assignment.h"

#include "gtest/gtest.h"
#include "tests/services/coordinator/fleet/small_cluster.h"

namespace paceline {
namespace {

TEST(AssignmentTest, AJobStartsWithItsMinimumAndGetsTheRestAtOnce) {
  SmallCluster cluster;
  cluster.AddWorkers(3);
  cluster.AddJob(/*min=*/2);
  EXPECT_EQ(cluster.Step(),
            "assign 1 to 1; assign 2 to 1; assign 3 to 1; start 1");
  EXPECT_EQ(cluster.Step(), "");
}

TEST(AssignmentTest, NoneGetsMoreThanItsMaximum) {
  SmallCluster cluster;
  cluster.AddWorkers(4);
  cluster.AddJob(1, /*max=*/3);
  cluster.Settle();
  EXPECT_EQ(cluster.Layout(), "1: 1 2 3 | free: 4");
}

TEST(AssignmentTest, AWaitingJobTakesNothingUntilItsMinimumIsThere) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(3);
  EXPECT_EQ(cluster.Step(), "");
  EXPECT_EQ(cluster.plan().waiting.at(1), "needs 3 workers, 2 are free");
  cluster.AddWorkers(1);
  EXPECT_EQ(cluster.Step(),
            "assign 1 to 1; assign 2 to 1; assign 3 to 1; start 1");
}

TEST(AssignmentTest, PoolAndDeviceAreRespected) {
  SmallCluster cluster;
  cluster.AddWorkers(1, "a", "T4");
  cluster.AddWorkers(1, "b", "H100");
  cluster.AddWorkers(1, "b", "T4");
  cluster.AddJob(1, 0, {"b", "c"});
  cluster.job(1).gpu_models = {"T4"};
  cluster.AddJob(2, 0, {"b"});
  cluster.job(2).gpu_models = {"A100", "L4"};
  cluster.Settle();
  EXPECT_EQ(cluster.Layout(), "1: 3 | free: 1 2");
  EXPECT_EQ(cluster.plan().waiting.at(2),
            "needs 2 workers of pool b with A100 or L4, 0 are free");
}

TEST(AssignmentTest, AJobIsNotGivenAWorkerThatIsUnfitForIt) {
  SmallCluster cluster;
  cluster.AddWorkers(3);
  cluster.worker(2).unfit_for = {1};
  cluster.AddJob(2);
  cluster.AddJob(1);
  cluster.Settle();
  EXPECT_EQ(cluster.Layout(), "1: 1 3 | 2: 2");
}

TEST(AssignmentTest, WhatHasTrainedGivesItsWorkersBackAndGetsNone) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(2);
  cluster.Settle();
  cluster.job(1).trainers = TrainersWanted::kNone;
  EXPECT_EQ(cluster.Step(),
            "release 2 of 1: the training is over; "
            "release 1 of 1: the training is over");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "");
  cluster.AddJob(1);
  EXPECT_EQ(cluster.Step(), "assign 1 to 2; assign 2 to 2; start 2");
}

TEST(AssignmentTest, WhatIsAboutToStopKeepsItsWorkersAndGetsNoMore) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(2);
  cluster.Settle();
  cluster.job(1).trainers = TrainersWanted::kNoMore;
  cluster.AddWorkers(1);
  EXPECT_EQ(cluster.Step(), "");
  cluster.job(1).trainers = TrainersWanted::kYes;
  EXPECT_EQ(cluster.Step(), "assign 3 to 1");
}

TEST(AssignmentTest, WhoHasChoicesIsLeftForThoseWithout) {
  SmallCluster cluster;
  cluster.AddWorkers(1, "a");
  cluster.AddWorkers(1, "b");
  cluster.AddJob(1);  // Would take worker 1 if it did not care.
  cluster.AddJob(1, 0, {"a"});
  cluster.Settle();
  EXPECT_EQ(cluster.Layout(), "1: 2 | 2: 1");
}

// What the issue wants to see: two pools, 2 and 4 workers; one job ends and the
// other grows.
TEST(AssignmentTest, WhenOneJobEndsTheOtherGrowsUpToItsMaximum) {
  SmallCluster cluster;
  cluster.AddWorkers(2, "slow");
  cluster.AddWorkers(4, "fast");
  const JobNumber small = cluster.AddJob(2, 2, {"slow"});
  cluster.AddJob(2, 6);
  cluster.Settle();
  EXPECT_EQ(cluster.Layout(), "1: 1 2 | 2: 3 4 5 6");
  cluster.EndJob(small);
  EXPECT_EQ(cluster.Step(),
            "release 1 of 1: the job has ended; "
            "release 2 of 1: the job has ended");
  EXPECT_EQ(cluster.Step(), "");  // They have not left yet.
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 1 to 2; assign 2 to 2");
}

TEST(AssignmentTest, ALaterJobThatFitsIsNotBlocked) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(5);
  cluster.AddJob(2);
  EXPECT_EQ(cluster.Step(), "assign 1 to 2; assign 2 to 2; start 2");
  EXPECT_EQ(cluster.plan().waiting.at(1), "needs 5 workers, 2 are free");
}

TEST(AssignmentTest, WhatAJobHasAboveItsMinimumGoesToOneThatWaits) {
  SmallCluster cluster;
  cluster.AddWorkers(4);
  cluster.AddJob(1);
  cluster.Settle();
  EXPECT_EQ(cluster.Layout(), "1: 1 2 3 4");
  cluster.AddJob(2);
  EXPECT_EQ(cluster.Step(),
            "release 4 of 1: job 2 waits for it; "
            "release 3 of 1: job 2 waits for it");
  EXPECT_EQ(cluster.plan().waiting.at(2),
            "needs 2 workers, 0 are free, the others are leaving their jobs");
  EXPECT_EQ(cluster.Step(), "");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 3 to 2; assign 4 to 2; start 2");
  EXPECT_EQ(cluster.Step(), "");
}

TEST(AssignmentTest, FreeWorkersAreHeldBackForTheOldestThatCanBeCovered) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(1);
  cluster.Settle();
  cluster.AddWorkers(1);
  cluster.AddJob(2);  // Covered by the free one and one of job 1's.
  cluster.AddJob(1);  // Would take the free one.
  EXPECT_EQ(cluster.Step(), "release 2 of 1: job 2 waits for it");
  EXPECT_EQ(cluster.plan().waiting.at(3), "needs 1 worker, 0 are free");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 2 to 2; assign 3 to 2; start 2");
  EXPECT_EQ(cluster.Step(), "");
}

TEST(AssignmentTest, NothingIsReleasedForAJobThatWouldStillNotStart) {
  SmallCluster cluster;
  cluster.AddWorkers(3);
  cluster.AddJob(2);
  cluster.Settle();
  cluster.AddJob(2);  // Job 1 can spare one only.
  EXPECT_EQ(cluster.Step(), "");
  cluster.AddJob(1);
  EXPECT_EQ(cluster.Step(), "release 3 of 1: job 3 waits for it");
}

TEST(AssignmentTest, OfSeveralTheOneWithTheMostToSpareGives) {
  SmallCluster cluster;
  cluster.AddWorkers(6);
  cluster.AddJob(1, 2);
  cluster.AddJob(1, 4);
  cluster.Settle();
  EXPECT_EQ(cluster.Layout(), "1: 1 3 | 2: 2 4 5 6");
  cluster.AddJob(1);
  EXPECT_EQ(cluster.Step(), "release 6 of 2: job 3 waits for it");
}

TEST(AssignmentTest, SurplusIsSpreadEvenly) {
  SmallCluster cluster;
  cluster.AddWorkers(9);
  cluster.AddJob(1);
  cluster.AddJob(3);
  cluster.AddJob(1, 1);
  cluster.Settle();
  EXPECT_EQ(cluster.WorkersOf(1), 3);  // Two above the minimum,
  EXPECT_EQ(cluster.WorkersOf(2), 5);  // and the same here.
  EXPECT_EQ(cluster.WorkersOf(3), 1);
}

TEST(AssignmentTest, UnevenSurplusIsEvenedOutOneByOne) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(1);
  cluster.AddJob(1);
  cluster.Settle();
  cluster.job(2).pools = {"default"};
  cluster.AddWorkers(6, "other");
  cluster.Settle();
  // Job 2 could have no more than the two of its pool.
  EXPECT_EQ(cluster.Layout(), "1: 3 4 5 6 7 8 | 2: 1 2");
  cluster.job(2).pools = {};
  EXPECT_EQ(cluster.Step(), "release 8 of 1: another job has fewer workers");
  EXPECT_EQ(cluster.Step(), "");  // One at a time.
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 8 to 2");
  EXPECT_EQ(cluster.Step(), "release 7 of 1: another job has fewer workers");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 7 to 2");
  EXPECT_EQ(cluster.Layout(), "1: 3 4 5 6 | 2: 1 2 7 8");
  EXPECT_EQ(cluster.Step(), "");
}

TEST(AssignmentTest, ALowerMaximumReleases) {
  SmallCluster cluster;
  cluster.AddWorkers(4);
  cluster.AddJob(1);
  cluster.Settle();
  cluster.job(1).max = 2;
  EXPECT_EQ(cluster.Step(),
            "release 4 of 1: the job's maximum is 2; "
            "release 3 of 1: the job's maximum is 2");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "");
}

TEST(AssignmentTest, ADrainedWorkerLeavesAndIsReplaced) {
  SmallCluster cluster;
  cluster.AddWorkers(3);
  cluster.AddJob(2, 2);
  cluster.Settle();
  cluster.worker(1).draining = true;
  EXPECT_EQ(cluster.Step(), "release 1 of 1: it is drained; assign 3 to 1");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "");
  EXPECT_EQ(cluster.Layout(), "1: 2 3 | free: 1");
  cluster.worker(1).draining = false;
  EXPECT_EQ(cluster.Step(), "");
}

TEST(AssignmentTest, DrainingMayTakeAJobBelowItsMinimum) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(2);
  cluster.Settle();
  cluster.worker(2).draining = true;
  EXPECT_EQ(cluster.Step(), "release 2 of 1: it is drained");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "");
  cluster.AddWorkers(1);
  EXPECT_EQ(cluster.Step(), "assign 3 to 1");
}

TEST(AssignmentTest, ARunningJobBelowItsMinimumComesBeforeThoseThatWait) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(2);
  cluster.Settle();
  cluster.AddJob(1);
  cluster.RemoveWorker(2);
  cluster.AddWorkers(1);
  EXPECT_EQ(cluster.Step(), "assign 3 to 1");
}

TEST(AssignmentTest, ANamespaceStaysWithinItsQuota) {
  SmallCluster cluster;
  cluster.limits.workers_per_namespace = 3;
  cluster.AddWorkers(8);
  cluster.AddJob(1);
  cluster.AddJob(4);
  cluster.Settle();
  EXPECT_EQ(cluster.WorkersOf(1), 3);
  EXPECT_EQ(cluster.plan().waiting.at(2),
            "needs 4 workers, 5 are free; the namespace may have 3 in all");
  const JobNumber other = cluster.AddJob(4);
  cluster.job(other).name_space = "other";
  cluster.job(other).min = 3;
  cluster.Settle();
  EXPECT_EQ(cluster.WorkersOf(other), 3);
}

TEST(AssignmentTest, TheQuotaIsSharedLikeWorkers) {
  SmallCluster cluster;
  cluster.limits.workers_per_namespace = 4;
  cluster.AddWorkers(8);
  cluster.AddJob(1);
  cluster.Settle();
  cluster.AddJob(2);  // Workers are free, but the quota is not.
  EXPECT_EQ(cluster.Step(),
            "release 4 of 1: job 2 waits for it; "
            "release 3 of 1: job 2 waits for it");
  EXPECT_EQ(cluster.Step(), "");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 3 to 2; assign 4 to 2; start 2");
  EXPECT_EQ(cluster.Step(), "");
}

TEST(AssignmentTest, WorkersOfAWaitingJobThatCannotStartAreNotHoarded) {
  SmallCluster cluster;
  cluster.AddWorkers(2);
  cluster.AddJob(2);
  cluster.Settle();
  cluster.RemoveWorker(2);
  cluster.job(1).running = false;  // Its start did not succeed.
  EXPECT_EQ(cluster.Step(), "");
  EXPECT_EQ(cluster.plan().waiting.at(1), "needs 1 worker, 0 are free");
  cluster.AddJob(1);
  EXPECT_EQ(cluster.Step(), "release 1 of 1: job 2 waits for it");
  cluster.AllLeave();
  EXPECT_EQ(cluster.Step(), "assign 1 to 2; start 2");
}

TEST(AssignmentTest, WhoLeavesAJobThatIsNoMoreWillBeFree) {
  SmallCluster cluster;
  cluster.AddWorkers(3);
  cluster.AddJob(1, 2);
  cluster.Settle();
  cluster.worker(3).leaving = true;
  cluster.AddJob(1);
  // It is waited for; job 1 keeps what it has.
  EXPECT_EQ(cluster.Step(), "");
  EXPECT_EQ(cluster.plan().waiting.at(2),
            "needs 1 worker, 0 are free, the others are leaving their jobs");
  cluster.worker(3).leaving = false;
  EXPECT_EQ(cluster.Step(), "assign 3 to 2; start 2");
}

TEST(AssignmentTest, NobodyAndNothing) {
  SmallCluster cluster;
  EXPECT_EQ(cluster.Step(), "");
  cluster.AddJob(1);
  EXPECT_EQ(cluster.Step(), "");
  EXPECT_EQ(cluster.plan().waiting.at(1), "needs 1 worker, 0 are free");
}

}  // namespace
}  // namespace paceline
