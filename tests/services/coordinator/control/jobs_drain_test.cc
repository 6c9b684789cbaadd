// What becomes of jobs when the coordinator is told to stop.

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"
#include "tests/services/coordinator/control/patience.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class JobsDrainTest : public JobsTest {
 protected:
  // Two members come and are lost one after the other: in between the thread
  // has looked at every job.
  void AwaitTurnWithoutJobs() {
    for (const char* const name : {"c0", "c1"}) {
      FleetWorker& worker = AddWorker(name);
      clock_.Advance(2 * options_.lease);
      EXPECT_TRUE(absl::IsAborted(worker.AwaitClosed()));
    }
  }
};

TEST_F(JobsDrainTest, ARunningJobIsSaved) {
  Start();
  AddMembers();
  const std::string job = Run("a");
  worker().PushOn();
  jobs().Drain(kPatience);
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_THAT(Get(job).restore_from(), HasSubstr("/checkpoints/pause-"));
  EXPECT_EQ(Stored(job).state(), v1::Job::PAUSED);
}

// What its members do after the grace is no word on the job: their streams are
// closed because the process ends.
TEST_F(JobsDrainTest, AJobThatDidNotManageToPauseHasNotFailed) {
  Start();
  AddMembers();
  const std::string job = Run("a");
  jobs().Drain(absl::ZeroDuration());
  server().Break();
  EXPECT_THAT(worker().AwaitStop(), HasSubstr("s0 is gone"));
  AwaitTurnWithoutJobs();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSING);
  EXPECT_EQ(Stored(job).state(), v1::Job::PAUSING);
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
}

TEST_F(JobsDrainTest, AfterItNothingIsTakenOn) {
  Start();
  AddMembers();
  const std::string job = Run("a");
  jobs().Drain(absl::ZeroDuration());
  EXPECT_TRUE(
      absl::IsUnavailable(jobs().CreateJob(Request("b"), "test").status()));
  EXPECT_TRUE(absl::IsUnavailable(Cancel(job).status()));
  v1::UpdateJobRequest update;
  update.mutable_job()->set_name(job);
  update.mutable_job()->set_display_name("A");
  update.mutable_update_mask()->add_paths("display_name");
  EXPECT_TRUE(absl::IsUnavailable(jobs().UpdateJob(update, "test").status()));
  v1::CreateCheckpointRequest checkpoint;
  checkpoint.set_parent(job);
  EXPECT_TRUE(absl::IsUnavailable(
      jobs().CreateCheckpoint(checkpoint, "test").status()));
  v1::DeleteJobRequest gone;
  gone.set_name(job);
  EXPECT_TRUE(absl::IsUnavailable(jobs().DeleteJob(gone)));
}

}  // namespace
}  // namespace paceline
