// A disk of the checkpoints that hangs: who needs it is told so, and nobody
// else notices.

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class JobsHangingDiskTest : public JobsTest {
 protected:
  ~JobsHangingDiskTest() override {
    if (!answer_->HasBeenNotified()) Answer();
  }

  // From now on whatever is to be done on the coordinator's disk waits.
  void Hang() { Hang(options_.checkpoint_root); }
  void Hang(const std::string& folder) {
    ASSERT_TRUE(
        options_.lanes
            ->Put(folder, [answer = answer_] { answer->WaitForNotification(); })
            .ok());
  }
  void Answer() { answer_->Notify(); }

  // Its weights are to be saved, and hang.
  std::string PauseAndHang() {
    const std::string job = StartAndRun("a");
    const auto watcher = Watch(job);
    Hang();
    EXPECT_TRUE(Pause(job).ok());
    worker().PushOn();
    watcher->AwaitCheckpoint(v1::Checkpoint::WRITING);
    server().AwaitWritten();
    return job;
  }

 private:
  const std::shared_ptr<absl::Notification> answer_ =
      std::make_shared<absl::Notification>();
};

TEST_F(JobsHangingDiskTest, ADeletionGoesOnByItself) {
  const std::string job = StartAndRun("a");
  const std::string old = SaveCheckpoint(job, "c");
  SaveCheckpoint(job, "d");  // It goes on from here.
  Hang();
  v1::DeleteCheckpointRequest request;
  request.set_name(old);
  const absl::Status slow = jobs().DeleteCheckpoint(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(slow)) << slow;
  EXPECT_THAT(std::string(slow.message()), HasSubstr("goes on by itself"));
  v1::GetCheckpointRequest get;
  get.set_name(old);
  EXPECT_EQ(jobs().GetCheckpoint(get)->state(), v1::Checkpoint::FAILED);
  AwaitTurn();
  Answer();
  EXPECT_TRUE(Eventually(
      [&] { return absl::IsNotFound(jobs().GetCheckpoint(get).status()); }));
}

// Somebody deletes what has failed, and the next attempt succeeds elsewhere,
// under the same name.
TEST_F(JobsHangingDiskTest, ADeletionDoesNotTakeWhatWasSavedSince) {
  options_.lease = absl::Hours(1);
  const TestFolder other;
  const std::string fallback = other.Path("fallback");
  options_.checkpoint_fallbacks = {fallback};
  const std::string job = StartAndRun("a");
  server().FailCheckpoints(absl::ResourceExhaustedError("the disk is full"));
  const auto watcher = Watch(job);
  ASSERT_TRUE(Pause(job).ok());
  worker().PushOn();
  watcher->AwaitReason("cannot be saved");
  v1::ListCheckpointsRequest list;
  list.set_parent(job);
  const auto failed = jobs().ListCheckpoints(list);
  ASSERT_TRUE(failed.ok()) << failed.status();
  ASSERT_EQ(failed->checkpoints_size(), 1);
  EXPECT_THAT(failed->checkpoints(0).directory(), HasSubstr(fallback));
  Hang(fallback);
  v1::DeleteCheckpointRequest request;
  request.set_name(failed->checkpoints(0).name());
  const absl::Status slow = jobs().DeleteCheckpoint(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(slow)) << slow;
  server().FailCheckpoints(absl::OkStatus());
  clock_.Advance(absl::Seconds(1));
  watcher->AwaitState(v1::Job::PAUSED);
  EXPECT_EQ(Get(job).restore_from(), request.name());
  Answer();
  AwaitTurn();
  AwaitTurn();
  v1::GetCheckpointRequest get;
  get.set_name(request.name());
  const auto saved = jobs().GetCheckpoint(get);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->state(), v1::Checkpoint::READY);
  EXPECT_THAT(saved->directory(), HasSubstr(options_.checkpoint_root));
}

TEST_F(JobsHangingDiskTest, AJobIsDeletedOnceItsFilesAre) {
  const std::string job = StartAndRun("a");
  SaveCheckpoint(job, "c");
  const auto watcher = Watch(job);
  ASSERT_TRUE(Cancel(job).ok());
  EXPECT_TRUE(watcher->AwaitEnd().ok());
  AwaitTurn();
  Hang();
  v1::DeleteJobRequest request;
  request.set_name(job);
  const absl::Status slow = jobs().DeleteJob(request);
  EXPECT_TRUE(absl::IsFailedPrecondition(slow)) << slow;
  EXPECT_EQ(Get(job).state(), v1::Job::CANCELLED);
  Answer();
  EXPECT_TRUE(Eventually([&] { return jobs().DeleteJob(request).ok(); }));
}

TEST_F(JobsHangingDiskTest, AJobThatCannotBeSavedSaysWhoStillWrites) {
  const std::string job = PauseAndHang();
  const auto watcher = Watch(job);
  clock_.Advance(absl::Seconds(11));  // More than a lease.
  watcher->AwaitReason("the coordinator still writes to");
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSING);
  Answer();
  watcher->AwaitState(v1::Job::PAUSED);
}

TEST_F(JobsHangingDiskTest, TheCoordinatorEndsAllTheSame) {
  const std::string job = PauseAndHang();
  jobs().Drain(absl::ZeroDuration());
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  End();
}

TEST_F(JobsHangingDiskTest, TheCoordinatorBeginsAllTheSame) {
  const std::string job = PauseAndHang();
  jobs().Drain(absl::ZeroDuration());
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  v1::ListCheckpointsRequest request;
  request.set_parent(job);
  const auto listed = jobs().ListCheckpoints(request);
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->checkpoints_size(), 1);
  const v1::Checkpoint& checkpoint = listed->checkpoints(0);
  EXPECT_EQ(checkpoint.state(), v1::Checkpoint::FAILED);
  EXPECT_THAT(checkpoint.state_reason(), HasSubstr("does not answer"));
}

}  // namespace
}  // namespace paceline
