// Runs of a coordinator whose files are to survive the machine.

#include <string>

#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/common/synced_files.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

class JobsFsyncTest : public JobsTest {
 protected:
  JobsFsyncTest() { KeepJournals(); }

  SyncedFiles disk_;
};

TEST_F(JobsFsyncTest, JournalsAreSynced) {
  options_.fsync = true;
  const std::string job = StartAndRun("a");
  const int before = disk_.CountOf(JournalOf(job));
  EXPECT_GT(before, 0);
  worker().Push(1);
  EXPECT_TRUE(
      Eventually([&] { return disk_.CountOf(JournalOf(job)) > before; }));
}

TEST_F(JobsFsyncTest, OrNot) {
  const std::string job = StartAndRun("a");
  worker().Push(1);
  AwaitSamples(job, 10);
  EXPECT_EQ(disk_.CountOf(JournalOf(job)), 0);
}

}  // namespace
}  // namespace paceline
