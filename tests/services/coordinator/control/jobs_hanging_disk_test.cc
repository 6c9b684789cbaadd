// A disk of the checkpoints that hangs: who needs it is told so, and nobody
// else notices.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

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
  void Hang() {
    ASSERT_TRUE(options_.lanes
                    ->Put(options_.checkpoint_root,
                          [answer = answer_] { answer->WaitForNotification(); })
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

// Each has a thread that answers calls.
TEST_F(JobsHangingDiskTest, NotAllWhoAnswerWaitForIt) {
  const std::string job = StartAndRun("a");
  v1::ReadCheckpointRequest request;
  request.set_name(SaveCheckpoint(job, "c"));
  request.set_file("manifest.json");
  Hang();
  std::atomic<int> read = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      const absl::Status status = jobs().ReadCheckpoint(request).status();
      ++(absl::IsUnavailable(status) ? refused : read);
    });
  }
  EXPECT_TRUE(Eventually([&] { return refused == 1; }));
  Answer();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(read, 3);
  EXPECT_TRUE(jobs().ReadCheckpoint(request).ok());
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
