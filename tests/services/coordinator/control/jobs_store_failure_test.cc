// What has happened to a job is not undone by a store that fails.

#include <filesystem>
#include <string>
#include <vector>

#include "common/status_details.h"
#include "gmock/gmock.h"
#include "services/coordinator/store/store_files.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

class JobsStoreFailureTest : public JobsTest {
 protected:
  // The store can be written again, and what could not be was tried again.
  void AwaitStored() {
    ReleaseStore();
    clock_.Advance(options_.lease / 2);
    AwaitTurn();
  }

  v1::Checkpoint::State StoredState(const std::string& job,
                                    const std::string& checkpoint) {
    const auto stored = store_->ListCheckpoints(Get(job).uid());
    EXPECT_TRUE(stored.ok()) << stored.status();
    for (const v1::Checkpoint& it : *stored) {
      if (it.name() == checkpoint) return it.state();
    }
    return v1::Checkpoint::STATE_UNSPECIFIED;
  }

  v1::Checkpoint::State StateOf(const std::string& checkpoint) {
    v1::GetCheckpointRequest request;
    request.set_name(checkpoint);
    const auto found = jobs().GetCheckpoint(request);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(v1::Checkpoint()).state();
  }
};

TEST_F(JobsStoreFailureTest, AJobsEndIsToldAtOnceAndStoredWhenItCanBe) {
  KeepJournals();
  StartWithMembers();
  v1::CreateJobRequest request = Request("a");
  request.mutable_job()->mutable_spec()->mutable_stop()->set_epochs(1);
  const std::string job = Create(request);
  const auto watcher = Watch(job);
  watcher->AwaitState(v1::Job::RUNNING);
  AwaitTurn();  // That is stored.
  HoldStore();
  worker().PushOn();
  const v1::Job ended = watcher->AwaitState(v1::Job::SUCCEEDED);
  EXPECT_TRUE(ended.has_end_time());
  EXPECT_TRUE(watcher->AwaitEnd().ok());
  EXPECT_EQ(Stored(job).state(), v1::Job::RUNNING);
  EXPECT_TRUE(std::filesystem::exists(JournalOf(job)));
  v1::GetJobReportRequest report;
  report.set_name(job);
  EXPECT_TRUE(jobs().GetJobReport(report).ok());

  AwaitStored();
  EXPECT_EQ(Stored(job).state(), v1::Job::SUCCEEDED);
  EXPECT_FALSE(std::filesystem::exists(JournalOf(job)));
  EXPECT_EQ(Stored(job).etag(), Get(job).etag());
  EXPECT_EQ(Get(job).etag(), ended.etag());
  EXPECT_TRUE(store_->GetReport(ended.uid())->has_value());
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::SUCCEEDED);
}

TEST_F(JobsStoreFailureTest, ACheckpointThatIsReadyIsKept) {
  StartWithMembers();
  server().HoldCheckpoints();
  const std::string job = Run("a");
  const auto watcher = Watch(job);
  const std::string checkpoint = BeginCheckpoint(job, "c");
  HoldStore();
  server().WriteHeld();
  EXPECT_EQ(watcher->AwaitCheckpoint(v1::Checkpoint::READY).name(), checkpoint);
  EXPECT_EQ(StateOf(checkpoint), v1::Checkpoint::READY);
  EXPECT_EQ(StoredState(job, checkpoint), v1::Checkpoint::WRITING);
  AwaitStored();
  EXPECT_EQ(StoredState(job, checkpoint), v1::Checkpoint::READY);
}

// The process was killed before the store could be written again.
TEST_F(JobsStoreFailureTest, ACheckpointWhoseWordWasLostIsFoundAgain) {
  StartWithMembers();
  server().HoldCheckpoints();
  const std::string job = Run("a");
  const auto watcher = Watch(job);
  const std::string checkpoint = BeginCheckpoint(job, "c");
  HoldStore();
  server().WriteHeld();
  watcher->AwaitCheckpoint(v1::Checkpoint::READY);
  Restart();
  EXPECT_EQ(StateOf(checkpoint), v1::Checkpoint::READY);
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_EQ(Get(job).restore_from(), checkpoint);
}

// And kept for who names it, if its weights have diverged.
TEST_F(JobsStoreFailureTest, WhatHasDivergedIsFoundAgainAndNotGoneOnFrom) {
  StartWithMembers();
  server().HoldCheckpoints();
  const std::string job = Run("a");
  const auto watcher = Watch(job);
  const std::string checkpoint = BeginCheckpoint(job, "diverged-10-0001");
  HoldStore();
  server().WriteHeld();
  watcher->AwaitCheckpoint(v1::Checkpoint::READY);
  Restart();
  EXPECT_EQ(StateOf(checkpoint), v1::Checkpoint::READY);
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_EQ(Get(job).restore_from(), "");
}

// Not only those of jobs that ran.
TEST_F(JobsStoreFailureTest, NoCheckpointIsBeingWrittenAfterARestart) {
  Start();
  const std::string job = Create("a");
  ASSERT_TRUE(Cancel(job).ok());
  v1::Checkpoint checkpoint;
  checkpoint.set_name(job + "/checkpoints/c");
  checkpoint.set_state(v1::Checkpoint::WRITING);
  ASSERT_TRUE(store_->PutCheckpoint(Get(job).uid(), checkpoint).ok());
  Restart();
  EXPECT_EQ(StateOf(checkpoint.name()), v1::Checkpoint::FAILED);
}

TEST_F(JobsStoreFailureTest, WhatCallersAskForIsRefusedMeanwhile) {
  Start();
  const std::string job = Create("a");
  HoldStore();
  const absl::Status refused = Cancel(job).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_EQ(Get(job).state(), v1::Job::PENDING);
  ReleaseStore();
  EXPECT_TRUE(Cancel(job).ok());
}

// Somebody deletes the file under the process that uses it.
TEST_F(JobsStoreFailureTest, WithoutItsFileItPromisesNothingAndLosesNothing) {
  StartWithMembers();
  server().HoldCheckpoints();
  const std::string job = Run("a");
  const auto watcher = Watch(job);
  const std::string checkpoint = BeginCheckpoint(job, "c");
  std::filesystem::remove(StorePath());
  std::filesystem::remove(StorePath() + "-wal");
  const auto created =
      jobs().CreateJob(Request("b"), "ann", /*traceparent=*/"");
  EXPECT_EQ(ReasonOf(created.status()), "STORE_GONE") << created.status();
  EXPECT_EQ(ReasonOf(Cancel(job).status()), "STORE_GONE");
  EXPECT_EQ(ReasonOf(Pause(job).status()), "STORE_GONE");
  // The training goes on, and what it comes to is kept.
  EXPECT_EQ(Get(job).state(), v1::Job::RUNNING);
  server().WriteHeld();
  watcher->AwaitCheckpoint(v1::Checkpoint::READY);
  End();
  std::filesystem::rename(StoreFiles::NewestRescue(StorePath()), StorePath());
  Start();
  EXPECT_EQ(StateOf(checkpoint), v1::Checkpoint::READY);
  EXPECT_EQ(Get(job).restore_from(), checkpoint);
  EXPECT_TRUE(Resume(job).ok());
}

}  // namespace
}  // namespace paceline
