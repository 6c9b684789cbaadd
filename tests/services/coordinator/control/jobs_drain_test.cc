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

TEST_F(JobsDrainTest, ARunningJobIsSavedAndGoesOnByItself) {
  const std::string job = StartAndRun("a");
  worker().PushOn();
  jobs().Drain(kPatience);
  EXPECT_EQ(Get(job).state(), v1::Job::PENDING);
  EXPECT_EQ(Get(job).state_reason(),
            "the coordinator is stopping: the job is saved and goes on by "
            "itself");
  EXPECT_THAT(Get(job).restore_from(), HasSubstr("/checkpoints/pause-"));
  EXPECT_EQ(Stored(job).state(), v1::Job::PENDING);
  Restart();
  AddMembers();
  EXPECT_THAT(server().AwaitHost(1).restore_from(), HasSubstr("pause-"));
  AwaitTraining(job);
}

// That is asked for first of all.
TEST_F(JobsDrainTest, AJobThatIsPausedStaysSo) {
  const std::string job = StartAndRun("a");
  ASSERT_TRUE(Pause(job).ok());
  worker().PushOn();
  jobs().Drain(kPatience);
  EXPECT_EQ(Stored(job).state(), v1::Job::PAUSED);
}

// What its members do after the grace is no word on the job: their streams are
// closed because the process ends.
TEST_F(JobsDrainTest, AJobThatIsNotSavedInTimeHasNotFailed) {
  const std::string job = StartAndRun("a");
  jobs().Drain(absl::ZeroDuration());
  server().Break();
  EXPECT_THAT(worker().AwaitStop(), HasSubstr("s0 is gone"));
  AwaitTurnWithoutJobs();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_EQ(Stored(job).state(), v1::Job::PAUSED);
  EXPECT_EQ(Stored(job).state_reason(),
            "the coordinator has stopped before the weights were saved: resume "
            "it, and it begins anew");
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
}

TEST_F(JobsDrainTest, AfterItNothingIsTakenOn) {
  const std::string job = StartAndRun("a");
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
