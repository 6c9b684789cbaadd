// What a restart of the coordinator leaves of jobs that ran.

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobsRestartTest : public JobsTest {
 protected:
  // A job that was restored from its first checkpoint, not from its last, and
  // trains.
  void RunRestored() {
    job_ = StartAndRun("a");
    good_ = SaveCheckpoint(job_, "good");
    SaveCheckpoint(job_, "bad");
    const auto watcher = Watch(job_);
    ASSERT_TRUE(Cancel(job_).ok());
    watcher->AwaitState(v1::Job::CANCELLED);
    ASSERT_TRUE(Restore(job_, good_).ok());
    AwaitTraining(job_);
  }

  std::string job_;
  std::string good_;
};

TEST_F(JobsRestartTest, AJobGoesOnFromItsLastCheckpoint) {
  const std::string job = StartAndRun("a");
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
  RunRestored();
  Restart();
  EXPECT_EQ(Get(job_).state(), v1::Job::PAUSED);
  EXPECT_EQ(Get(job_).restore_from(), good_);
}

TEST_F(JobsRestartTest, TheRestoredCourseHasItsOwnCheckpoints) {
  RunRestored();
  const std::string better = SaveCheckpoint(job_, "better");
  EXPECT_EQ(Get(job_).restore_from(), better);
  Restart();
  EXPECT_EQ(Get(job_).restore_from(), better);
}

// An etag guards what callers change; a checkpoint is no such change.
TEST_F(JobsRestartTest, ACheckpointDoesNotChangeTheEtag) {
  const std::string job = StartAndRun("a");
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
  const std::string job = StartAndRun("a");
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_THAT(Get(job).restore_from(), IsEmpty());
  EXPECT_THAT(Get(job).state_reason(), HasSubstr("begins anew"));
}

// It had trained nothing.
TEST_F(JobsRestartTest, AJobThatLoadsLoadsAnew) {
  StartWithMembers();
  worker().Stop();  // It will not say that it is ready.
  const std::string job = Create("a");
  const auto watcher = Watch(job);
  watcher->AwaitState(v1::Job::STARTING);
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PENDING);
  AddMembers();
  AwaitTraining(job);
}

class JobsRestartJournalTest : public JobsRestartTest {
 protected:
  JobsRestartJournalTest() { KeepJournals(); }

  // The store has this of the job.
  void RestartWith(const v1::Job& job) {
    End();
    ASSERT_TRUE(OpenStore(StorePath(), {})->Record({.jobs = {job}}).ok());
    Start();
  }
};

// It ends in order, without a folder of checkpoints or because it cannot
// listen, and its end is none of the job's.
TEST_F(JobsRestartJournalTest, AJobGoesOnWhereItWas) {
  const std::string job = StartAndRun("a");
  worker().Push(3);
  AwaitSamples(job, 30);
  for (int life = 0; life < 5; ++life) {
    Restart();
    EXPECT_EQ(Get(job).state(), v1::Job::RUNNING) << Get(job).state_reason();
    EXPECT_EQ(Get(job).progress().samples(), 30);
  }
}

// What the coordinator had stored as it died, and not told to the run; or the
// other way round, of what a run does by itself.
TEST_F(JobsRestartJournalTest, StoreAndRunAgreeAgain) {
  v1::CreateJobRequest request = Request("b");
  v1::JobSpec& spec = *request.mutable_job()->mutable_spec();
  spec.set_paradigm("bsp");
  v1::PlannedSwitch& planned = *spec.add_switches();
  planned.set_samples(10);
  planned.set_paradigm("asp");
  StartWithMembers();
  const std::string switches = Create(request);
  AwaitTraining(switches);
  worker().Push(2);
  AwaitSamples(switches, 20);
  EXPECT_TRUE(
      Eventually([&] { return Get(switches).spec().paradigm() == "asp"; }));
  v1::Job job = Get(switches);
  job.mutable_spec()->set_paradigm("bsp");
  RestartWith(job);
  EXPECT_EQ(Get(switches).spec().paradigm(), "asp");
  EXPECT_EQ(Get(switches).progress().paradigm(), "asp");

  job = Get(switches);
  job.mutable_spec()->clear_switches();
  job.mutable_spec()->set_paradigm("ssp:s=3");
  job.mutable_spec()->mutable_stop()->set_epochs(7);
  RestartWith(job);
  EXPECT_EQ(Get(switches).spec().paradigm(), "ssp:s=3");
  EXPECT_TRUE(Eventually(
      [&] { return Get(switches).progress().paradigm() == "ssp:s=3"; }));
  EXPECT_EQ(Get(switches).progress().samples_total(),
            7 * Get(switches).progress().train_samples());
}

}  // namespace
}  // namespace paceline
