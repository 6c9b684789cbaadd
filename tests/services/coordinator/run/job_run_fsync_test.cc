// A run whose journal is to survive the machine.

#include <cerrno>
#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/common/synced_files.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;

class JobRunFsyncTest : public JobRunTest {
 protected:
  JobRunFsyncTest() {
    spec_.set_paradigm("asp");  // A push is followed by a grant.
    setup_.job_uid = "a uid";
    setup_.version = "1";
    setup_.fsync = true;
    KeepJournal();
  }

  int syncs() const { return disk_.CountOf(setup_.journal_file); }
  // Its next grant.
  void Push() {
    EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
    worker(0).Next(Kind::kGrant);
  }

  SyncedFiles disk_;
};

TEST_F(JobRunFsyncTest, NothingIsSentBeforeTheDiskHasWhatItFollowsFrom) {
  StartTraining();
  EXPECT_GT(syncs(), 0);
  const int before = syncs();
  disk_.Hold();
  std::thread pushes([this] { Push(); });
  EXPECT_TRUE(disk_.AwaitHeld());
  // The grant is decided about, and waits.
  EXPECT_TRUE(Eventually([&] { return job_->Progress().samples() == 10; }));
  EXPECT_TRUE(worker(0).HasNothing());
  disk_.Release();
  pushes.join();
  EXPECT_GT(syncs(), before);
}

TEST_F(JobRunFsyncTest, AJournalThatCannotBeSyncedIsGivenUp) {
  StartTraining();
  disk_.Fail(EIO);
  Push();
  EXPECT_FALSE(std::filesystem::exists(setup_.journal_file));
  EXPECT_FALSE(job_->log().active());
}

TEST_F(JobRunFsyncTest, OtherJournalsDoNotWaitForTheDisk) {
  setup_.fsync = false;
  StartTraining();
  Push();
  EXPECT_TRUE(job_->log().active());
  EXPECT_EQ(syncs(), 0);
}

}  // namespace
}  // namespace paceline
