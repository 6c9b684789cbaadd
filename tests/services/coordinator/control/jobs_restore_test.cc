// Going back to a checkpoint.

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

class JobsRestoreTest : public JobsTest {
 protected:
  // Switches the running job and returns the decision's number.
  int64_t Switch(const std::string& job, const std::string& paradigm) {
    const auto watcher = Watch(job);
    v1::SwitchParadigmRequest request;
    request.set_name(job);
    request.set_paradigm(paradigm);
    const auto switched = jobs().SwitchParadigm(request, "test");
    EXPECT_TRUE(switched.ok()) << switched.status();
    return watcher
        ->Await("the switch",
                [](const v1::WatchJobResponse& response) {
                  return response.decision().kind() == "switch";
                })
        .decision()
        .sequence();
  }

  // Each course that begins anew goes on with the numbers of the last.
  void RestoreAndExpectHigherNumbers(const std::string& job) {
    const int64_t before = Switch(job, "ssp:s=2");
    const auto watcher = Watch(job);
    ASSERT_TRUE(Cancel(job).ok());
    watcher->AwaitState(v1::Job::CANCELLED);
    ASSERT_TRUE(Restore(job).ok());
    AwaitTraining(job);
    EXPECT_GT(Switch(job, "asp"), before);
  }
};

TEST_F(JobsRestoreTest, WhoWatchesAPausedJobSeesWhatFollows) {
  const std::string job = StartAndRun("a");
  const std::string good = SaveCheckpoint(job, "good");
  const auto watcher = Watch(job);
  ASSERT_TRUE(Pause(job).ok());
  worker().PushOn();
  watcher->AwaitState(v1::Job::PAUSED);
  const auto restored = Restore(job, good);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->restore_from(), good);
  watcher->AwaitState(v1::Job::PENDING);
  watcher->AwaitState(v1::Job::RUNNING);
  ASSERT_TRUE(Cancel(job).ok());
  watcher->AwaitState(v1::Job::CANCELLED);
  EXPECT_TRUE(watcher->AwaitEnd().ok());
}

// As soon as it is asked for, and while its workers load.
TEST_F(JobsRestoreTest, TheJobIsWhereItsCheckpointIs) {
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  const auto push_until = [&](int64_t samples) {
    worker().Push(2);
    while (Get(job).progress().samples() < samples) AwaitTurn();
  };
  push_until(20);
  const std::string point = SaveCheckpoint(job, "c");
  push_until(40);
  ASSERT_TRUE(Cancel(job).ok());
  watcher->AwaitState(v1::Job::CANCELLED);
  EXPECT_EQ(Get(job).progress().samples(), 40);
  worker().Stop();  // It will not say that it is ready.
  ASSERT_TRUE(Restore(job, point).ok());
  EXPECT_EQ(Get(job).progress().samples(), 20);
  const auto next = Watch(job);
  next->AwaitState(v1::Job::STARTING);
  EXPECT_EQ(Get(job).progress().phase(), "loading");
  EXPECT_EQ(Get(job).progress().samples(), 20);
}

TEST_F(JobsRestoreTest, WhoComesAfterTheEndSeesTheNewCourse) {
  const std::string job = StartAndRun("a");
  SaveCheckpoint(job, "good");
  const auto first = Watch(job);
  ASSERT_TRUE(Cancel(job).ok());
  EXPECT_TRUE(first->AwaitEnd().ok());
  ASSERT_TRUE(Restore(job).ok());
  const auto second = Watch(job);
  second->AwaitState(v1::Job::RUNNING);
  ASSERT_TRUE(Cancel(job).ok());
  second->AwaitState(v1::Job::CANCELLED);
  EXPECT_TRUE(second->AwaitEnd().ok());
}

TEST_F(JobsRestoreTest, DecisionsThatWaitForTheDiskKeepTheirNumbers) {
  const auto elsewhere = OpenStore(":memory:");
  history_store_ = elsewhere.get();
  const std::string job = StartAndRun("a");
  SaveCheckpoint(job, "good");
  RestoreAndExpectHigherNumbers(job);
  // Their writer ends before its store.
  journal_->Flush(absl::Seconds(5)).IgnoreError();
  End();
}

}  // namespace
}  // namespace paceline
