// Jobs whose weights cannot be saved for now, or were lost.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/manifest.h"
#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/control/jobs_testing.h"
#include "tests/services/coordinator/control/patience.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Status kFull = absl::ResourceExhaustedError("the disk is full");

class JobsSavingTest : public JobsTest {
 protected:
  // Attempts are to be waited for, and nobody is to be lost meanwhile.
  JobsSavingTest() { options_.lease = absl::Hours(1); }

  // A job that ends after one epoch, its last checkpoint before that at 10
  // samples; where it was to be saved there was no room.
  std::string TrainOnAFullDisk() {
    StartWithMembers();
    v1::CreateJobRequest request = Request("a");
    request.mutable_job()->mutable_spec()->mutable_stop()->set_epochs(1);
    const std::string job = Create(request);
    AwaitTraining(job);
    worker().Push(1);
    AwaitSamples(job, 10);
    SaveCheckpoint(job, "before");
    server().FailCheckpoints(kFull, options_.checkpoint_root + "/");
    watcher_ = Watch(job);
    worker().PushOn();
    watcher_->AwaitState(v1::Job::SAVING);
    return job;
  }
  // The same of one that was to be paused.
  std::string PauseOnAFullDisk() {
    const std::string job = StartAndRun("a");
    worker().Push(1);
    AwaitSamples(job, 10);
    SaveCheckpoint(job, "before");
    server().FailCheckpoints(kFull, options_.checkpoint_root + "/");
    watcher_ = Watch(job);
    EXPECT_TRUE(Pause(job).ok());
    worker().PushOn();
    watcher_->AwaitReason("cannot be saved");
    return job;
  }
  absl::StatusOr<v1::Checkpoint> SaveIn(const std::string& job,
                                        const std::string& directory) {
    v1::CreateCheckpointRequest request;
    request.set_parent(job);
    request.set_checkpoint_id("mine");
    request.set_directory(directory);
    return jobs().CreateCheckpoint(request, "test");
  }
  void Free() { server().FailCheckpoints(absl::OkStatus()); }

  std::unique_ptr<JobWatcher> watcher_;
};

TEST_F(JobsSavingTest, APauseStaysOneUntilItIsSaved) {
  const std::string job = PauseOnAFullDisk();
  const v1::Job pausing = Get(job);
  EXPECT_EQ(pausing.state(), v1::Job::PAUSING);
  EXPECT_THAT(pausing.state_reason(),
              AllOf(HasSubstr("s0: the disk is full; tried 1 times, again in "
                              "1s"),
                    HasSubstr("paceline checkpoint create JOB --directory DIR"),
                    HasSubstr("paceline job cancel JOB gives them up")));
  // The servers alone wait.
  worker().AwaitStop();
  clock_.Advance(absl::Seconds(1));
  watcher_->AwaitReason("tried 2 times, again in 2s");
  Free();
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(watcher_->AwaitState(v1::Job::PAUSED).state_reason(), "paused");
  EXPECT_THAT(Get(job).restore_from(), HasSubstr("/checkpoints/pause-"));
}

TEST_F(JobsSavingTest, APauseThatCannotBeSavedIsTakenBack) {
  const std::string job = PauseOnAFullDisk();
  worker().AwaitStop();
  const int64_t trained = Get(job).progress().samples();
  const auto resumed = Resume(job);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->state(), v1::Job::RUNNING);
  EXPECT_EQ(resumed->state_reason(), "");
  // With the same weights, though nothing of them is saved.
  AwaitSamples(job, trained + 10);
  AwaitTurn();
  EXPECT_EQ(Get(job).state(), v1::Job::RUNNING) << Get(job).state_reason();
  EXPECT_THAT(Get(job).restore_from(), HasSubstr("/before"));
  Free();
  ASSERT_TRUE(Pause(job).ok());
  watcher_->AwaitState(v1::Job::PAUSED);
  EXPECT_GT(Get(job).progress().samples(), trained);
}

TEST_F(JobsSavingTest, APauseIsTakenBackWhileAPushIsUnderWay) {
  const std::string job = StartAndRun("a");
  ASSERT_TRUE(Pause(job).ok());
  const auto resumed = Resume(job);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->state(), v1::Job::RUNNING);
  worker().PushOn();
  AwaitSamples(job, 100);
  EXPECT_EQ(Get(job).state(), v1::Job::RUNNING);
}

TEST_F(JobsSavingTest, ATrainedJobIsSavingUntilItIsSaved) {
  const std::string job = TrainOnAFullDisk();
  // Those who watch hear of it first.
  EXPECT_TRUE(
      Eventually([&] { return Stored(job).state() == v1::Job::SAVING; }));
  EXPECT_EQ(Scrape().Sum("paceline_coordinator_checkpoints_failed_total"), 1);
  Free();
  clock_.Advance(absl::Seconds(1));
  watcher_->AwaitState(v1::Job::SUCCEEDED);
  EXPECT_EQ(Get(job).state_reason(), "");
}

// That one more attempt has failed is in the reason, and nowhere else.
TEST_F(JobsSavingTest, AFailureIsToldOnce) {
  const std::string job = TrainOnAFullDisk();
  clock_.Advance(absl::Seconds(1));
  watcher_->AwaitReason("tried 2 times");
  Free();
  clock_.Advance(absl::Seconds(2));
  const auto next = watcher_->Await(
      "a checkpoint",
      [](const v1::WatchJobResponse& told) { return told.has_checkpoint(); });
  EXPECT_EQ(next.checkpoint().state(), v1::Checkpoint::READY)
      << next.ShortDebugString();
  watcher_->AwaitState(v1::Job::SUCCEEDED);
}

TEST_F(JobsSavingTest, SomebodySavesItElsewhere) {
  const std::string job = TrainOnAFullDisk();
  const std::string elsewhere = options_.checkpoint_root + "-elsewhere";
  const auto begun = SaveIn(job, elsewhere + "/");
  ASSERT_TRUE(begun.ok()) << begun.status();
  const std::string folder =
      absl::StrCat(elsewhere, "/", Get(job).uid(), "/mine");
  EXPECT_EQ(begun->directory(), folder);
  watcher_->AwaitState(v1::Job::SUCCEEDED);
  EXPECT_TRUE(ReadManifest(folder).ok());
  EXPECT_EQ(Get(job).restore_from(), begun->name());
  // It goes on from there, and goes with the job.
  v1::DeleteJobRequest request;
  request.set_name(job);
  // Its workers leave first.
  EXPECT_TRUE(Eventually([&] { return jobs().DeleteJob(request).ok(); }));
  EXPECT_FALSE(
      std::filesystem::exists(std::filesystem::path(folder).parent_path()));
}

TEST_F(JobsSavingTest, AnotherFolderTakesWhatTheFirstCannot) {
  const TestFolder other;
  options_.checkpoint_fallbacks = {other.Path("fallback")};
  StartWithMembers();
  server().FailCheckpoints(kFull, options_.checkpoint_root + "/");
  const std::string job = Run("a");
  const auto watcher = Watch(job);
  ASSERT_TRUE(Pause(job).ok());
  worker().PushOn();
  watcher->AwaitState(v1::Job::PAUSED);
  ASSERT_TRUE(Resume(job).ok());
  EXPECT_THAT(server().AwaitHost(2).restore_from(),
              HasSubstr(options_.checkpoint_fallbacks[0]));
}

// The next attempt has its name, and its folder.
TEST_F(JobsSavingTest, WhatHasFailedIsNotDeletedWhileItIsTriedAgain) {
  const std::string job = PauseOnAFullDisk();
  v1::ListCheckpointsRequest list;
  list.set_parent(job);
  const auto listed = jobs().ListCheckpoints(list);
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->checkpoints(0).state(), v1::Checkpoint::FAILED);
  v1::DeleteCheckpointRequest request;
  request.set_name(listed->checkpoints(0).name());
  const absl::Status refused = jobs().DeleteCheckpoint(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("is being saved"));
  Free();
  clock_.Advance(absl::Seconds(1));
  watcher_->AwaitState(v1::Job::PAUSED);
  EXPECT_EQ(Get(job).restore_from(), request.name());
  EXPECT_TRUE(ReadManifest(listed->checkpoints(0).directory()).ok());
}

TEST_F(JobsSavingTest, OnlyAPersonGivesTheWeightsUp) {
  const std::string job = TrainOnAFullDisk();
  ASSERT_TRUE(Cancel(job).ok());
  watcher_->AwaitState(v1::Job::CANCELLED);
  EXPECT_THAT(Get(job).restore_from(), HasSubstr("/before"));
}

TEST_F(JobsSavingTest, TheGraceOfACoordinatorIsUsed) {
  const std::string job = PauseOnAFullDisk();
  Free();
  // No second passes by the test's clock.
  jobs().Drain(kPatience);
  EXPECT_EQ(Stored(job).state(), v1::Job::PAUSED);
  EXPECT_THAT(Stored(job).restore_from(), HasSubstr("/pause-"));
}

TEST_F(JobsSavingTest, AfterTheGraceItIsWhereItsLastCheckpointIs) {
  const std::string job = TrainOnAFullDisk();
  jobs().Drain(absl::ZeroDuration());
  const auto check = [&] {
    const v1::Job left = Stored(job);
    EXPECT_EQ(left.state(), v1::Job::PAUSED);
    EXPECT_EQ(left.state_reason(),
              absl::StrCat("the coordinator has stopped before the weights "
                           "were saved: s0: the disk is full: resume it, and "
                           "it goes on from ",
                           job, "/checkpoints/before"));
    EXPECT_EQ(left.progress().samples(), 10);
    EXPECT_EQ(left.progress().samples_total(), 40);
  };
  check();
  Restart();
  check();
}

TEST_F(JobsSavingTest, AServersGraceIsUsed) {
  const std::string job = TrainOnAFullDisk();
  Free();
  server().Leave();
  watcher_->AwaitState(v1::Job::SUCCEEDED);
}

TEST_F(JobsSavingTest, AServerThatGoesUnsavedPausesTheJob) {
  const std::string job = PauseOnAFullDisk();
  server().Leave();
  watcher_->AwaitReason("tried 2 times");
  server().Break();
  const v1::Job paused = watcher_->AwaitState(v1::Job::PAUSED);
  EXPECT_EQ(paused.state_reason(),
            absl::StrCat("parameter server s0 was told to stop and has gone "
                         "before the weights were saved: s0: the disk is full: "
                         "resume it, and it goes on from ",
                         job, "/checkpoints/before"));
  EXPECT_EQ(Get(job).progress().samples(), 10);
}

TEST_F(JobsSavingTest, OneThatIsKilledFailsItAndSaysWhatIsLeft) {
  const std::string job = TrainOnAFullDisk();
  server().Break();
  const v1::Job failed = watcher_->AwaitState(v1::Job::FAILED);
  EXPECT_THAT(failed.state_reason(),
              HasSubstr(absl::StrCat("restore the job, and it goes on from ",
                                     job, "/checkpoints/before (10 samples)")));
}

TEST_F(JobsSavingTest, WithoutACheckpointNobodyIsToldToRestore) {
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  server().Break();
  const v1::Job failed = watcher->AwaitState(v1::Job::FAILED);
  EXPECT_THAT(failed.state_reason(),
              AllOf(HasSubstr("has no checkpoint to go on from"),
                    Not(HasSubstr("restore"))));
}

TEST_F(JobsSavingTest, AKillShowsWhereTheJobGoesOn) {
  const std::string job = TrainOnAFullDisk();
  Restart();
  const v1::Job paused = Get(job);
  EXPECT_EQ(paused.state(), v1::Job::PAUSED);
  EXPECT_EQ(paused.progress().samples(), 10);
  EXPECT_EQ(paused.progress().samples_total(), 40);
}

TEST_F(JobsSavingTest, ADamagedCheckpointLeavesTheOthers) {
  const std::string job = StartAndRun("a");
  const std::string older = SaveCheckpoint(job, "older");
  SaveCheckpoint(job, "newest");
  auto watcher = Watch(job);
  ASSERT_TRUE(Cancel(job).ok());
  EXPECT_TRUE(watcher->AwaitEnd().ok());
  std::ofstream(absl::StrCat(options_.checkpoint_root, "/", Get(job).uid(),
                             "/newest/", kManifestName))
      << "{";
  ASSERT_TRUE(Restore(job).ok());
  watcher = Watch(job);
  const v1::Job failed = watcher->AwaitState(v1::Job::FAILED);
  EXPECT_THAT(failed.state_reason(),
              AllOf(HasSubstr(older), HasSubstr("--checkpoint")));
}

TEST_F(JobsSavingTest, NoJobBeginsThatCouldNotBeSaved) {
  absl::Mutex mu;
  FolderState folder{"/saved", "", absl::NotFoundError("create /saved: none"),
                     /*known=*/true};
  options_.folders = [&] {
    absl::MutexLock lock(&mu);
    return std::vector<FolderState>{folder};
  };
  StartWithMembers();
  const std::string job = Create("a");
  const auto watcher = Watch(job);
  const v1::Job waits = watcher->AwaitReason(
      "waits for the checkpoint folder: create /saved: none");
  EXPECT_EQ(waits.state(), v1::Job::PENDING);
  {
    // A full disk keeps nobody: there may be room by then.
    absl::MutexLock lock(&mu);
    folder.status = kFull;
  }
  watcher->AwaitState(v1::Job::RUNNING);
  End();  // It asks the test no more.
}

}  // namespace
}  // namespace paceline
