// What a restart of the coordinator leaves of jobs that ran.

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using JobsRestartTest = JobsTest;

TEST_F(JobsRestartTest, AJobGoesOnFromItsLastCheckpoint) {
  Start();
  AddMembers();
  const std::string job = Run("a");
  SaveCheckpoint(job, "first");
  const std::string last = SaveCheckpoint(job, "second");
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_EQ(Get(job).restore_from(), last);
  AddMembers();
  ASSERT_TRUE(Resume(job).ok());
  EXPECT_THAT(server().AwaitHost(1).restore_from(), HasSubstr("second"));
}

// Whoever went back to an earlier checkpoint did not want what came after it.
TEST_F(JobsRestartTest, ARestorationIsKept) {
  Start();
  AddMembers();
  const std::string job = Run("a");
  const std::string good = SaveCheckpoint(job, "good");
  SaveCheckpoint(job, "bad");
  const auto watcher = Watch(job);
  ASSERT_TRUE(Cancel(job).ok());
  watcher->AwaitState(v1::Job::CANCELLED);
  ASSERT_TRUE(Restore(job, good).ok());
  AwaitTraining(job);
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_EQ(Get(job).restore_from(), good);
}

TEST_F(JobsRestartTest, TheRestoredCourseHasItsOwnCheckpoints) {
  Start();
  AddMembers();
  const std::string job = Run("a");
  const std::string good = SaveCheckpoint(job, "good");
  SaveCheckpoint(job, "bad");
  const auto watcher = Watch(job);
  ASSERT_TRUE(Cancel(job).ok());
  watcher->AwaitState(v1::Job::CANCELLED);
  ASSERT_TRUE(Restore(job, good).ok());
  AwaitTraining(job);
  const std::string better = SaveCheckpoint(job, "better");
  EXPECT_EQ(Get(job).restore_from(), better);
  Restart();
  EXPECT_EQ(Get(job).restore_from(), better);
}

// An etag guards what callers change; a checkpoint is no such change.
TEST_F(JobsRestartTest, ACheckpointDoesNotChangeTheEtag) {
  Start();
  AddMembers();
  const std::string job = Run("a");
  const std::string etag = Get(job).etag();
  const auto watcher = Watch(job);
  watcher->AwaitState(v1::Job::RUNNING);
  SaveCheckpoint(job, "c");
  EXPECT_EQ(Get(job).etag(), etag);
  // Nor is it told as one.
  const auto next =
      watcher->Await("the checkpoint", [](const v1::WatchJobResponse& it) {
        return it.has_job() || it.checkpoint().state() == v1::Checkpoint::READY;
      });
  EXPECT_FALSE(next.has_job());
}

TEST_F(JobsRestartTest, WithoutACheckpointAJobBeginsAnew) {
  Start();
  AddMembers();
  const std::string job = Run("a");
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_THAT(Get(job).restore_from(), IsEmpty());
  EXPECT_THAT(Get(job).state_reason(), HasSubstr("begins anew"));
}

}  // namespace
}  // namespace paceline
